#include "diagnose/profiler_trace.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return has(text, part); });
}

/// "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)", "ncclKernel_AllGather_RING_LL_Sum_int8_t(…)".
bool is_nccl(std::string_view name) {
    return name.starts_with("nccl") || has(name, "ncclDevKernel") || has(name, "ncclKernel");
}

Collective collective_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Collective>, 5> names{
        {{"AllReduce", Collective::all_reduce},
         {"AllGather", Collective::all_gather},
         {"ReduceScatter", Collective::reduce_scatter},
         {"Broadcast", Collective::broadcast},
         {"SendRecv", Collective::send_recv}}};
    const auto* found =
        std::ranges::find_if(names, [&](const auto& one) { return has(name, one.first); });
    return found == names.end() ? Collective::other : found->second;
}

// Of cuBLAS, CUTLASS, hipBLASLt, Triton and Transformer Engine.
constexpr std::array<std::string_view, 7> matmul_names{"gemm", "Gemm",  "GEMM", "cutlass",
                                                       "xmma", "nvjet", "Cijk_"};
constexpr std::array<std::string_view, 5> attention_names{"flash", "fmha", "Flash", "attention",
                                                          "sdpa"};

bool is_copy(std::string_view category) {
    return category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
           category == "Memset";
}

}  // namespace

std::string_view name_of(Collective collective) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(Collective::count_)>
        names{"all-reduce", "all-gather",       "reduce-scatter",
              "broadcast",  "send and receive", "other"};
    return names.at(static_cast<std::size_t>(collective));
}

// The events are objects in the list "traceEvents" of the document, or in one that is the document.

void ProfilerTraceReader::begin(bool is_object) {
    ++depth_;
    if (!is_object) {
        in_events_ = in_events_ || depth_ == 1 || (depth_ == 2 && key_ == "traceEvents");
    } else if (in_events_ && event_depth_ == 0) {
        event_depth_ = depth_;
        event_ = {};
    } else if (depth_ == 2 && key_ == "distributedInfo") {
        info_depth_ = depth_;
    }
    key_.clear();
}

void ProfilerTraceReader::end() {
    if (depth_ == event_depth_) {
        take_event();
        event_depth_ = 0;
    } else if (in_events_ && event_depth_ == 0) {
        in_events_ = false;
    }
    info_depth_ = depth_ == info_depth_ ? 0 : info_depth_;
    --depth_;
    key_.clear();
}

void ProfilerTraceReader::key(std::string_view name) {
    key_ = name;
}

void ProfilerTraceReader::value(std::string_view text, bool is_text) {
    if (depth_ == info_depth_ && !is_text) {
        if (key_ == "rank") {
            trace_.rank = parse_number<std::uint32_t>(text);
        } else if (key_ == "world_size") {
            trace_.world_size = parse_number<std::uint32_t>(text);
        }
    }
    if (depth_ != event_depth_ || event_depth_ == 0) {
        return;
    }
    if (key_ == "name") {
        event_.name = text.substr(0, 512);
    } else if (key_ == "cat") {
        event_.category = text.substr(0, 64);
    } else if (key_ == "pid") {
        event_.process = text.substr(0, 64);
    } else if (key_ == "ph") {
        event_.is_complete = text == "X";
    } else if (key_ == "ts") {
        event_.begin_us = number_in(text);
    } else if (key_ == "dur") {
        event_.duration_us = number_in(text);
    }
}

void ProfilerTraceReader::take_event() {
    ++trace_.events;
    if (!event_.is_complete || !event_.begin_us || !event_.duration_us ||
        !std::isfinite(*event_.begin_us) || !(*event_.duration_us >= 0) ||
        !std::isfinite(*event_.duration_us)) {
        return;
    }
    const Interval interval{*event_.begin_us, *event_.begin_us + *event_.duration_us};
    const std::string_view category = event_.category;
    if (category == "kernel" || category == "Kernel") {
        take_kernel(interval);
    } else if (is_copy(category)) {
        if (auto* one = device()) {
            put(one->copies, interval);
        }
    } else if (event_.name.starts_with("ProfilerStep") && category != "gpu_user_annotation") {
        ++trace_.steps;
        steps_sum_us_ += interval.end - interval.begin;
        put(steps_, interval);
    } else if (has(event_.name, "DataLoader") && has(event_.name, "__next__")) {
        put(loader_, interval);
    }
}

void ProfilerTraceReader::take_kernel(Interval interval) {
    auto* one = device();
    if (one == nullptr) {
        return;
    }
    auto& time = one->time;
    ++time.kernels;
    const auto length = interval.end - interval.begin;
    if (is_nccl(event_.name)) {
        time.collective_us.at(static_cast<std::size_t>(collective_of(event_.name))) += length;
        put(one->nccl, interval);
        return;
    }
    put(one->compute, interval);
    if (has_any(event_.name, attention_names)) {
        time.attention_us += length;
    } else if (has_any(event_.name, matmul_names)) {
        time.matmul_us += length;
    } else {
        time.other_compute_us += length;
    }
}

void ProfilerTraceReader::put(IntervalSet& set, Interval interval) {
    trace_.is_partial = !set.add(interval) || trace_.is_partial;
}

ProfilerTraceReader::Device* ProfilerTraceReader::device() {
    const auto found = devices_.find(event_.process);
    if (found != devices_.end()) {
        return &found->second;
    }
    if (devices_.size() == most_devices) {
        trace_.is_partial = true;
        return nullptr;
    }
    auto& made = devices_[event_.process];
    made.time.device = printable(event_.process);
    return &made;
}

DeviceTime ProfilerTraceReader::times_of(const Device& device,
                                         std::optional<Interval> steps) const {
    auto compute = device.compute.spans();
    auto nccl = device.nccl.spans();
    auto copies = device.copies.spans();
    Interval window{0, 0};
    if (steps) {
        window = *steps;
    } else {
        Spans all = compute;
        all.insert(all.end(), nccl.begin(), nccl.end());
        all.insert(all.end(), copies.begin(), copies.end());
        all = united(std::move(all));
        window = all.empty() ? window : Interval{all.front().begin, all.back().end};
    }
    compute = within(compute, window);
    nccl = within(nccl, window);
    copies = within(copies, window);
    auto kernels = compute;
    kernels.insert(kernels.end(), nccl.begin(), nccl.end());
    kernels = united(std::move(kernels));

    auto time = device.time;
    time.span_us = window.end - window.begin;
    time.compute_us = length_of(compute);
    time.nccl_us = length_of(nccl);
    time.nccl_exposed_us = length_of(without(nccl, compute));
    time.copy_us = length_of(copies);
    time.copy_exposed_us = length_of(without(copies, kernels));
    time.idle_us =
        std::max(0.0, time.span_us - time.compute_us - time.nccl_exposed_us - time.copy_exposed_us);
    return time;
}

void ProfilerTraceReader::finish() {
    json_.finish();
    trace_.is_cut = !json_.is_whole();
    trace_.last_line = json_.line();
    const auto steps = steps_.spans();
    std::optional<Interval> window;
    if (!steps.empty()) {
        window = Interval{steps.front().begin, steps.back().end};
        trace_.step_us = steps_sum_us_ / static_cast<double>(trace_.steps);
    }
    const auto loader = loader_.spans();
    trace_.loader_us = length_of(window ? within(loader, *window) : loader);
    for (const auto& [name, device] : devices_) {
        trace_.devices.push_back(times_of(device, window));
    }
}

}  // namespace railhead::diagnose
