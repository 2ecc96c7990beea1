// Where does a step's time go on a GPU?  A trace of PyTorch's profiler (Chrome's JSON), read as it
// comes.
//
// Kernels count as computation or, by their names, as NCCL's.  What overlaps is told by intervals:
// communication that runs beside computation costs no time, what is left is exposed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/intervals.hpp"
#include "diagnose/json_stream.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

/// Which collective a kernel of NCCL or RCCL is of, by its name.
enum class Collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    send_recv,
    other,
    count_
};
[[nodiscard]] std::string_view name_of(Collective collective);

/// Times in microseconds.
struct DeviceTime {
    std::string device;     ///< its process in the trace: "0"
    double span_us = 0;     ///< from the first step's begin to the last one's end, else of all work
    double compute_us = 0;  ///< at least one kernel but NCCL's ran
    double nccl_us = 0;     ///< at least one kernel of NCCL ran
    double nccl_exposed_us = 0;  ///< … and none that computes
    double copy_us = 0;          ///< memcpy and memset
    double copy_exposed_us = 0;  ///< … and no kernel of either kind
    double idle_us = 0;          ///< nothing ran
    // Sums over the kernels of the whole trace, which may overlap.
    double matmul_us = 0, attention_us = 0, other_compute_us = 0;
    std::array<double, static_cast<std::size_t>(Collective::count_)> collective_us{};
    std::uint64_t kernels = 0;
};

struct ProfilerTrace {
    std::optional<std::uint32_t> rank, world_size;  ///< of "distributedInfo"
    std::uint64_t steps = 0;                        ///< ProfilerStep#N
    double step_us = 0;                             ///< mean of them
    double loader_us = 0;  ///< the CPU waited for the data loader, within the steps
    std::vector<DeviceTime> devices;
    std::uint64_t events = 0;
    bool is_cut = false;      ///< the file ends within the trace, or is no JSON from some line on
    bool is_partial = false;  ///< more intervals than fit in memory: times are of the first part
    std::uint64_t last_line = 0;
};

class ProfilerTraceReader : public Reader, private JsonHandler {
 public:
    static constexpr std::size_t most_devices = 16;

    explicit ProfilerTraceReader(std::uint32_t /*file*/) : json_{*this} {}
    void feed(std::string_view piece) override { json_.feed(piece); }
    void finish() override;
    [[nodiscard]] const ProfilerTrace& trace() const { return trace_; }

 private:
    struct Event {
        std::string name, category, process;
        std::optional<double> begin_us, duration_us;
        bool is_complete = false;  ///< "ph": "X"
    };
    struct Device {
        IntervalSet compute, nccl, copies;
        DeviceTime time;
    };

    void begin(bool is_object) override;
    void end() override;
    void key(std::string_view name) override;
    void value(std::string_view text, bool is_text) override;

    void take_event();
    void take_kernel(Interval interval);
    void put(IntervalSet& set, Interval interval);
    [[nodiscard]] Device* device();
    [[nodiscard]] DeviceTime times_of(const Device& device, std::optional<Interval> steps) const;

    JsonStream json_;
    ProfilerTrace trace_;
    std::size_t depth_ = 0;
    std::size_t event_depth_ = 0;  ///< 0: not within an event
    std::size_t info_depth_ = 0;   ///< of distributedInfo
    bool in_events_ = false;       ///< within the list of events
    std::string key_;
    Event event_;
    std::map<std::string, Device, std::less<>> devices_;
    IntervalSet loader_, steps_;
    double steps_sum_us_ = 0;
};

}  // namespace railhead::diagnose
