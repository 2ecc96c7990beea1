#include "diagnose/machine_facts.hpp"

#include <utility>

#include "diagnose/slurm_reader.hpp"
#include "fabric/topology_yaml.hpp"
#include "node/from_topo_m.hpp"

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

/// Hands each piece to two readers.
class Both : public Reader {
 public:
    Both(std::unique_ptr<Reader> one, std::unique_ptr<Reader> other)
        : one_{std::move(one)}, other_{std::move(other)} {}
    void feed(std::string_view piece) override {
        one_->feed(piece);
        other_->feed(piece);
    }
    void finish() override {
        one_->finish();
        other_->finish();
    }

 private:
    std::unique_ptr<Reader> one_, other_;
};

std::unique_ptr<Reader> read_output(std::uint32_t file, MachineFacts& facts) {
    return std::make_unique<Both>(
        collect<FailureReader>([&](const auto& r) { facts.failures.push_back(r.failures()); },
                               file),
        collect<RankReportReader>(
            [&](const auto& r) {
                if (!r.reports().empty()) {
                    facts.ranks.push_back(r.reports());
                }
            },
            file));
}

/// What SlurmReader reads.
class RecordReader : public Reader {
 public:
    RecordReader(std::uint32_t file, MachineFacts& facts)
        : file_{file}, facts_{facts}, reader_{facts.slurm, file} {}
    void feed(std::string_view piece) override { reader_.feed(piece); }
    void finish() override {
        reader_.finish();
        if (reader_.kind().empty()) {
            facts_.troubles.push_back({file_, "it does not begin with a record of Slurm"});
        }
    }

 private:
    std::uint32_t file_;
    MachineFacts& facts_;
    SlurmReader reader_;
};

/// The whole of a file, up to a limit that no matrix and no topology comes near.
class WholeText : public Reader {
 public:
    void feed(std::string_view piece) override {
        constexpr std::size_t limit = std::size_t{16} << 20U;
        text_.append(piece.substr(0, limit - text_.size()));
    }
    void finish() override { std::erase(text_, '\r'); }
    [[nodiscard]] const std::string& text() const { return text_; }

 private:
    std::string text_;
};

/// The lines without what launchers put before them.
class PlainLines : public LineReader {
 public:
    using LineReader::LineReader;
    [[nodiscard]] const std::string& text() const { return text_; }

 private:
    void read_line(std::string_view line) override {
        constexpr std::size_t limit = std::size_t{16} << 20U;
        static_cast<void>(take_label(line));
        if (text_.size() < limit) {
            text_ += line;
            text_ += '\n';
        }
    }

    std::string text_;
};

void take_matrix(const std::string& text, std::uint32_t file, const std::string& name,
                 MachineFacts& facts) {
    auto node = node::parse_topo_m(text, name);
    if (node) {
        facts.matrices.push_back({file, std::move(*node)});
    } else {
        facts.troubles.push_back({file, node.error().message});
    }
}

void take_topology(const std::string& text, std::uint32_t file, const std::string& name,
                   bool is_yaml, MachineFacts& facts) {
    TopologyFile topology{file, {}};
    Error error;
    if (is_yaml) {
        auto fabrics = fabric::parse_topology_yaml(text, name);
        if (fabrics) {
            topology.fabrics = std::move(*fabrics);
        } else {
            error = fabrics.error();
        }
    } else {
        auto fabric = fabric::parse_topology_conf(text, name);
        if (fabric) {
            topology.fabrics.push_back(std::move(*fabric));
        } else {
            error = fabric.error();
        }
    }
    if (topology.fabrics.empty()) {
        facts.troubles.push_back(
            {file, error.message.empty() ? "it has no topology" : error.message});
    } else {
        facts.topologies.push_back(std::move(topology));
    }
}

/// Of Slurm's records, and what is told by files of its configuration.
std::unique_ptr<Reader> read_slurm(FileKind kind, std::uint32_t file, const std::string& name,
                                   MachineFacts& facts) {
    switch (kind) {
        case FileKind::job_record:
            return std::make_unique<Both>(
                std::make_unique<RecordReader>(file, facts),
                collect<JobDetailsReader>(
                    [&](const auto& r) {
                        facts.jobs.insert(facts.jobs.end(), r.jobs().begin(), r.jobs().end());
                    },
                    file));
        case FileKind::node_record:
        case FileKind::slurmctld_log:
        case FileKind::sacct_table:
        case FileKind::sacct_json:
        case FileKind::event_table:
            return std::make_unique<RecordReader>(file, facts);
        case FileKind::partition_record:
            return collect<PartitionReader>(
                [&](const auto& r) {
                    facts.partitions.insert(facts.partitions.end(), r.partitions().begin(),
                                            r.partitions().end());
                },
                file);
        case FileKind::topology_conf:
        case FileKind::topology_yaml:
            return collect<WholeText>([&facts, file, name, kind](const auto& r) {
                take_topology(r.text(), file, name, kind == FileKind::topology_yaml, facts);
            });
        case FileKind::topo_m:
            return collect<PlainLines>(
                [&facts, file, name](const auto& r) { take_matrix(r.text(), file, name, facts); },
                file);
        default:
            return nullptr;
    }
}

}  // namespace

std::unique_ptr<Reader> make_machine_reader(FileKind kind, std::uint32_t file,
                                            const std::string& name, MachineFacts& facts) {
    if (is_job_output(kind)) {
        return read_output(file, facts);
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
            return read_slurm(kind, file, name, facts);
    }
}

std::string_view refusal_of(FileKind kind) {
    switch (kind) {
        case FileKind::slurm_conf:
        case FileKind::gres_conf:
            return "railhead check reads it";
        case FileKind::hwloc_xml:
        case FileKind::nccl_topology:
            return "railhead rails FILE reads it";
        default:
            break;
    }
    return kind == FileKind::python_pickle
               ? "it is a Python pickle, which runs code when it is read: where you trust it, turn "
                 "it into JSON by python3 -c 'import json, pickle, sys; json.dump(pickle.load("
                 "open(sys.argv[1], \"rb\")), sys.stdout)' FILE"
               : std::string_view{};
}

}  // namespace railhead::diagnose
