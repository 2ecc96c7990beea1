// How is each GPU?  nvidia-smi -q: clocks and what holds them down, ECC, PCIe, temperature, power.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// Why clocks are lower than they could be: "Clocks Event Reasons", before R535 "Clocks Throttle
/// Reasons".
enum class ClockReason : std::uint8_t {
    idle,
    applications_clocks,  ///< someone set them
    power_cap,            ///< at the power limit: usual under load
    hw_slowdown,          ///< halved or less, by hardware
    hw_thermal,
    hw_power_brake,  ///< by the node's power supply
    sync_boost,
    sw_thermal,
    display_clock,
    count_
};
[[nodiscard]] std::string_view name_of(ClockReason reason);

/// What "nvidia-smi -q" says of a GPU.  What it does not print, or prints as N/A, is absent.
struct GpuState {
    std::string host;    ///< label of the launcher; empty: none
    std::string bus_id;  ///< as printed: "00000000:18:00.0"
    std::string name;
    Evidence evidence;  ///< the line "GPU …"
    std::array<bool, static_cast<std::size_t>(ClockReason::count_)> active{};
    std::array<Evidence, static_cast<std::size_t>(ClockReason::count_)> active_evidence;
    bool reasons_told = false;
    std::optional<double> sm_mhz, max_sm_mhz, application_sm_mhz;
    std::optional<double> temperature_c;
    std::optional<double> margin_c;  ///< "T.Limit": degrees left until clocks fall
    std::optional<double> slowdown_c;
    std::optional<double> power_w, power_limit_w, default_power_limit_w;
    std::optional<double> utilization;  ///< a share
    std::optional<bool> persistence, mig, ecc;
    // Since the driver was loaded; `aggregate` since the GPU was made.
    std::optional<std::uint64_t> corrected, uncorrected, aggregate_uncorrected;
    std::optional<std::uint64_t> remapped_uncorrected;  ///< rows, for uncorrectable errors
    bool remap_pending = false, remap_failed = false;
    Evidence remap_evidence;
    std::optional<double> pcie_gen, pcie_gen_max, pcie_gen_device, pcie_gen_host;
    std::optional<double> pcie_width, pcie_width_max;  ///< lanes
    std::optional<std::uint64_t> pcie_replays;
    std::string fabric_state, fabric_status;  ///< of NVSwitch systems
    bool reset_required = false;
    std::string recovery_action;  ///< "None", "Reset", "Reboot"; empty: not told

    [[nodiscard]] bool is_active(ClockReason reason) const {
        return active.at(static_cast<std::size_t>(reason));
    }
};

struct GpuStates {
    std::vector<GpuState> gpus;  ///< in the order of the file
    std::string driver, cuda;    ///< versions, of the first host
    std::uint64_t left_out = 0;  ///< GPUs beyond the most that are kept
};

/// Reads what one or several nodes printed, each line with a label of srun or pdsh where they are
/// mixed.
class GpuStateReader : public LineReader {
 public:
    static constexpr std::size_t most_gpus = 65536;

    using LineReader::LineReader;
    [[nodiscard]] const GpuStates& states() const { return states_; }

 private:
    /// Where in the text of one label we are.
    struct Place {
        std::optional<std::size_t> gpu;
        std::vector<std::pair<std::size_t, std::string>> path;  ///< indentation and key
    };

    void read_line(std::string_view line) override;
    void set(GpuState& gpu, const std::string& path, std::string_view value);
    void set_reason(GpuState& gpu, std::string_view key, std::string_view value);
    bool set_flag(GpuState& gpu, const std::string& path, std::string_view value);

    GpuStates states_;
    std::map<std::string, Place, std::less<>> places_;
};

}  // namespace railhead::diagnose
