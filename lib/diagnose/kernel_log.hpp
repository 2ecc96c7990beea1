// What does the kernel say?  dmesg, journalctl -k, /var/log/messages: GPU and NVSwitch errors, PCIe
// and memory errors, processes killed for memory, links that went down, storage that went away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"
#include "diagnose/when.hpp"

namespace railhead::diagnose {

enum class KernelEventKind : std::uint8_t {
    xid,         ///< of a GPU: see xid.hpp
    sxid_fatal,  ///< of an NVSwitch
    sxid_nonfatal,
    gpu_init,        ///< the driver could not start a GPU
    pcie_corrected,  ///< AER
    pcie_nonfatal,   ///< AER: uncorrected, not fatal
    pcie_fatal,      ///< AER: uncorrected, fatal
    pcie_contained,  ///< DPC took a port down
    machine_check,
    memory_corrected,  ///< EDAC: of the host's memory
    memory_uncorrected,
    oom_kill,         ///< the host had no memory left
    cgroup_oom_kill,  ///< a job was at its limit
    link_down,
    link_up,
    cable,  ///< a port's module: unplugged, error, too hot
    lustre_eviction,
    lustre_lost,  ///< the connection to a target
    nfs_stall,
    hung_task,  ///< a process that could not go on for minutes
};
[[nodiscard]] std::string_view name_of(KernelEventKind kind);

/// What was said, the first time; alike are those of one kind, host, device and number.
struct KernelEvent {
    KernelEventKind kind = KernelEventKind::xid;
    std::string host;          ///< empty: not told
    std::string device;        ///< "0000:cb:00", "mlx5_0", "ens3f0np0", "lustre-OST0001", "CPU 3"
    std::uint64_t number = 0;  ///< of an Xid or SXid
    std::string process;       ///< of an Xid, a killed or a hung one; empty: not told
    std::optional<std::uint64_t> job;  ///< Slurm's, of one killed in a job's cgroup
    std::optional<double> at_s;        ///< seconds since 1970, where lines have dates
    std::optional<double> uptime_s;    ///< seconds since the boot, where they have those
    std::optional<double> last_at_s, last_uptime_s;  ///< of the last that is alike
    std::uint64_t count = 1;
    Evidence evidence;
};

struct KernelLog {
    std::vector<KernelEvent> events;  ///< in the order of their first lines
    std::uint64_t left_out = 0;       ///< events beyond the most that are kept
    std::uint64_t lines = 0;
};

class KernelLogReader : public LineReader {
 public:
    static constexpr std::size_t most_events = 4096;

    using LineReader::LineReader;
    [[nodiscard]] const KernelLog& log() const { return log_; }

 private:
    struct Found {
        KernelEventKind kind;
        std::string_view device;
        std::uint64_t number = 0;
        std::string_view process = {};
    };

    void read_line(std::string_view line) override;
    void read_end() override;
    void read_message(std::string_view text);
    bool read_gpu(std::string_view text);
    bool read_pcie(std::string_view text);
    bool read_memory(std::string_view text);
    bool read_link(std::string_view text);
    bool read_storage(std::string_view text);
    void add(const Found& found);
    [[nodiscard]] KernelEvent make(const Found& found) const;
    void put(KernelEvent event);

    KernelLog log_;
    std::map<std::string, std::size_t> known_;  ///< places in log_.events
    /// "AER: Corrected error received": all that tells of an error where the kernel leaves out the
    /// details for their rate.
    std::map<std::string, KernelEvent> announced_;
    When when_;
    std::string host_;
    std::optional<std::uint64_t> job_;  ///< of the kill that is being told
};

}  // namespace railhead::diagnose
