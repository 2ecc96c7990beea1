#include "diagnose/machine_facts.hpp"

#include <utility>

namespace railhead::diagnose {

namespace {

/// Reads by a `Inner` and hands over what `take` makes of it.
template <class Inner, class Take>
class Collector : public Reader {
 public:
    template <class... Arguments>
    explicit Collector(Take take, Arguments&&... arguments)
        : inner_{std::forward<Arguments>(arguments)...}, take_{std::move(take)} {}
    void feed(std::string_view piece) override { inner_.feed(piece); }
    void finish() override {
        inner_.finish();
        take_(inner_);
    }

 private:
    Inner inner_;
    Take take_;
};

template <class Inner, class Take, class... Arguments>
std::unique_ptr<Reader> collect(Take take, Arguments&&... arguments) {
    return std::make_unique<Collector<Inner, Take>>(std::move(take),
                                                    std::forward<Arguments>(arguments)...);
}

}  // namespace

std::unique_ptr<Reader> make_machine_reader(FileKind kind, std::uint32_t file,
                                            const std::string& name, MachineFacts& facts) {
    if (is_job_output(kind)) {
        return collect<FailureReader>(
            [&](const auto& r) { facts.failures.push_back(r.failures()); }, file);
    }
    switch (kind) {
        case FileKind::kernel_log:
            return collect<KernelLogReader>(
                [&](const auto& r) { facts.kernel_logs.push_back(r.log()); }, file);
        case FileKind::nvidia_smi:
            return collect<GpuStateReader>(
                [&](const auto& r) { facts.gpu_states.push_back(r.states()); }, file);
        case FileKind::dcgm:
            return collect<DcgmReader>([&](const auto& r) { facts.dcgm.push_back(r.report()); },
                                       file);
        case FileKind::ibstat:
        case FileKind::ibv_devinfo:
            return collect<PortStateReader>(
                [&](const auto& r) { facts.ports.push_back(r.ports()); }, file);
        case FileKind::lspci:
            return collect<LspciReader>([&](const auto& r) { facts.pci.push_back(r.state()); },
                                        file);
        case FileKind::nccl_ras:
            return collect<RasReader>([&](const auto& r) { facts.ras.push_back(r.report()); },
                                      file);
        case FileKind::flight_recorder:
            return collect<FlightRecordReader>(
                [&facts, name](const auto& r) {
                    auto& record = facts.flight_records.emplace_back(r.record());
                    record.rank = record.rank ? record.rank : rank_in_name(name);
                },
                file);
        case FileKind::profiler_trace:
            return collect<ProfilerTraceReader>(
                [&](const auto& r) { facts.traces.push_back(r.trace()); }, file);
        case FileKind::nsys_stats:
            return collect<NsysStatsReader>([&](const auto& r) { facts.nsys.push_back(r.stats()); },
                                            file);
        case FileKind::deepspeed_config:
        case FileKind::torchtitan_config:
        case FileKind::nemo_config:
        case FileKind::batch_script:
            return collect<RunConfigurationReader>(
                [&](const auto& r) { facts.configurations.push_back(r.configuration()); }, kind,
                file, name);
        case FileKind::slurmd_log:
            return collect<SlurmdLogReader>(
                [&](const auto& r) { facts.slurmd_logs.push_back(r.log()); }, file);
        case FileKind::sdiag:
            return collect<SdiagReader>(
                [&](const auto& r) { facts.controllers.push_back(r.statistics()); }, file);
        default:
            return nullptr;
    }
}

std::string_view refusal_of(FileKind kind) {
    return kind == FileKind::python_pickle
               ? "it is a Python pickle, which runs code when it is read: where you trust it, turn "
                 "it into JSON by python3 -c 'import json, pickle, sys; json.dump(pickle.load("
                 "open(sys.argv[1], \"rb\")), sys.stdout)' FILE"
               : std::string_view{};
}

}  // namespace railhead::diagnose
