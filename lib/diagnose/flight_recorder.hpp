// Which rank was absent from a collective?  Dumps of PyTorch's NCCL flight recorder, as JSON, one a
// rank (torch._C._distributed_c10d._dump_nccl_trace_json()).
//
// PyTorch writes them as pickles by default: those are not read, since reading one runs the code in
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/json_stream.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// A collective that was not completed, as a rank recorded it.
struct RecordedCall {
    std::string group;                      ///< name of the process group
    std::optional<std::uint64_t> sequence;  ///< number of the collective in its group
    std::string name;                       ///< "nccl:all_reduce"
    std::string state;                      ///< "scheduled", "started"
    std::string sizes;                      ///< of the input: "[[1024]]"
    std::optional<double> created_s;        ///< seconds since 1970
    std::uint64_t line = 0;
};

/// What a rank says of a process group.
struct RecordedGroup {
    std::string name;         ///< "0"
    std::string description;  ///< "default_pg", "mesh_tp"
    std::vector<std::uint32_t> ranks;
    std::optional<std::int64_t> enqueued, started, completed;  ///< the last collective of each kind
};

struct FlightRecord {
    std::uint32_t file = 0;
    std::optional<std::uint32_t> rank;  ///< told, or at the end of the file's name
    std::string version;
    std::map<std::string, RecordedGroup> groups;
    std::vector<RecordedCall>
        open;                 ///< the first that were not completed, by their order in the file
    std::uint64_t calls = 0;  ///< all that were recorded
    bool is_cut = false;
};

class FlightRecordReader : public Reader, private JsonHandler {
 public:
    static constexpr std::size_t most_calls = 1024;
    static constexpr std::size_t most_groups = 4096;

    explicit FlightRecordReader(std::uint32_t file) : json_{*this} { record_.file = file; }
    void feed(std::string_view piece) override { json_.feed(piece); }
    void finish() override;
    [[nodiscard]] const FlightRecord& record() const { return record_; }

 private:
    void begin(bool is_object) override;
    void end() override;
    void key(std::string_view name) override { key_ = name; }
    void value(std::string_view text, bool is_text) override;

    void take_call();
    void set_group(std::string_view text);
    [[nodiscard]] RecordedGroup* group(const std::string& name);

    JsonStream json_;
    FlightRecord record_;
    std::vector<std::string> path_;  ///< keys of what is open, the document left out
    std::string key_;
    RecordedCall call_;
    std::size_t in_sizes_ = 0;
};

/// The rank at the end of a file's name: "nccl_trace_rank_12", "rank12.json", "trace_12.json".
[[nodiscard]] std::optional<std::uint32_t> rank_in_name(std::string_view name);

/// A process group whose ranks stand at different collectives.
struct CollectiveGap {
    std::string group, description;
    std::int64_t furthest = 0;          ///< the last that a rank enqueued
    std::vector<std::uint32_t> behind;  ///< ranks that did not get there, least first
    std::vector<std::uint32_t> untold;  ///< ranks of the group whose dump is not there
    std::string call;                   ///< the collective that the others wait in; empty: not told
    std::uint32_t file = 0;             ///< a dump that waits
    std::uint64_t line = 0;
};

/// What the dumps of several ranks say together: groups in which somebody is absent.  Ranks without
/// a number are left out.
[[nodiscard]] std::vector<CollectiveGap> find_gaps(std::span<const FlightRecord> records);

}  // namespace railhead::diagnose
