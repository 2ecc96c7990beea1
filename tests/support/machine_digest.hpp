// All that MachineFacts say, as lines of text: for tests that change an input in ways that must not
// matter.
#pragma once

#include <string>

#include <fmt/format.h>

#include "diagnose/machine_facts.hpp"

namespace railhead::test {

/// Places are lines of the file, so that nothing may add or take away some.  Hosts are left out:
/// labels give them.
class MachineDigest {
 public:
    explicit MachineDigest(const diagnose::MachineFacts& facts) {
        add_node(facts);
        add_run(facts);
        add_time(facts);
        add_slurm(facts);
    }
    [[nodiscard]] const std::string& text() const { return text_; }

 private:
    template <class... Values>
    void add(const char* what, const Values&... values) {
        text_ += what;
        ((text_ += fmt::format(" {}", values)), ...);
        text_ += '\n';
    }

    void add_node(const diagnose::MachineFacts& facts) {
        for (const auto& log : facts.kernel_logs) {
            for (const auto& e : log.events) {
                add("kernel", name_of(e.kind), e.device, e.number, e.process, e.job.value_or(0),
                    e.at_s.value_or(-1), e.uptime_s.value_or(-1), e.count, e.evidence.line);
            }
        }
        for (const auto& states : facts.gpu_states) {
            for (const auto& g : states.gpus) {
                std::string active;
                for (const bool is : g.active) {
                    active += is ? '1' : '0';
                }
                add("gpu", g.bus_id, g.name, active, g.sm_mhz.value_or(-1),
                    g.temperature_c.value_or(-1), g.power_w.value_or(-1), g.uncorrected.value_or(0),
                    g.remap_pending, g.pcie_width.value_or(-1), g.persistence.value_or(false),
                    g.evidence.line);
            }
        }
        for (const auto& report : facts.dcgm) {
            for (const auto& c : report.checks) {
                add("check", c.section, c.name, static_cast<int>(c.result), c.detail,
                    c.evidence.line);
            }
            for (const auto& f : report.fields) {
                add("field", f.entity, f.field, f.least, f.most, f.sum, f.samples);
            }
        }
        for (const auto& ports : facts.ports) {
            for (const auto& p : ports) {
                add("port", p.device, p.port, p.state, p.physical, p.link_layer, p.firmware,
                    p.rate_gb_per_s.value_or(-1), p.active_mtu.value_or(-1), p.evidence.line);
            }
        }
        for (const auto& state : facts.pci) {
            for (const auto& a : state.acs) {
                add("acs", a.address, a.redirects(), a.source_valid, a.evidence.line);
            }
            for (const auto& l : state.slow_links) {
                add("link", l.address, l.speed, l.width, l.evidence.line);
            }
        }
    }

    void add_run(const diagnose::MachineFacts& facts) {
        for (const auto& failures : facts.failures) {
            for (const auto& f : failures.failures) {
                add("failure", name_of(f.kind), f.type, f.message, f.frame, f.is_chained,
                    f.evidence.line);
            }
            add("unfinished", failures.unfinished);
        }
        for (const auto& reports : facts.ranks) {
            for (const auto& b : reports.bindings) {
                add("binding", b.rank.value_or(0), b.local.value_or(0), to_string(b.cpus),
                    b.evidence.line);
            }
        }
        for (const auto& report : facts.ras) {
            add("ras", report.nodes.value_or(0), report.gpus.value_or(0));
            for (const auto& g : report.groups) {
                add("group", g.communicators, g.ranks, g.status, g.errors, g.evidence.line);
            }
            for (const auto& p : report.problems) {
                add("problem", p.communicator, p.word, p.said, p.missing.size(), p.members.size(),
                    p.evidence.line);
            }
        }
        for (const auto& c : facts.configurations) {
            for (const auto& s : c.settings) {
                add("setting", s.key, s.value, s.evidence.line);
            }
            add("errors", c.errors.size());
        }
    }

    void add_time(const diagnose::MachineFacts& facts) {
        for (const auto& record : facts.flight_records) {
            for (const auto& [name, g] : record.groups) {
                add("process group", name, g.ranks.size(), g.enqueued.value_or(-9));
            }
            for (const auto& c : record.open) {
                add("call", c.group, c.name, c.state, c.sizes, c.sequence.value_or(0), c.line);
            }
        }
        for (const auto& t : facts.traces) {
            add("trace", t.rank.value_or(0), t.steps, t.step_us, t.loader_us, t.events);
            for (const auto& d : t.devices) {
                add("device", d.device, d.span_us, d.compute_us, d.nccl_exposed_us,
                    d.copy_exposed_us, d.idle_us, d.kernels);
            }
        }
        for (const auto& stats : facts.nsys) {
            add("nsys", stats.nccl_ns, stats.compute_ns);
            for (const auto& r : stats.rows) {
                add("row", r.name, r.total_ns, r.count, r.evidence.line);
            }
        }
    }

    void add_slurm(const diagnose::MachineFacts& facts) {
        for (const auto& log : facts.slurmd_logs) {
            for (const auto& e : log.events) {
                add("slurmd", name_of(e.kind), e.job.value_or(0), e.reason, e.at_s.value_or(-1),
                    e.evidence.line);
            }
        }
        for (const auto& c : facts.controllers) {
            add("sdiag", c.at_s.value_or(-1), c.main_mean_us.value_or(0),
                c.backfill_last_us.value_or(0), c.dbd_agent_queue.value_or(0), c.by_type.size(),
                c.by_user.size());
        }
        add_records(facts);
    }

    void add_records(const diagnose::MachineFacts& facts) {
        for (const auto& a : facts.slurm.attempts) {
            add("attempt", a.id, a.state, a.node_list, a.gpus, a.end_s.value_or(-1), a.from.line);
        }
        for (const auto& e : facts.slurm.events) {
            add("event", e.node, e.state, e.reason, e.begin_s, e.from.line);
        }
        for (const auto& l : facts.slurm.lines) {
            add("line", static_cast<int>(l.kind), l.nodes, l.job, l.at_s, l.from.line);
        }
        for (const auto& j : facts.jobs) {
            add("job", j.id, j.node_list.value, j.std_out, j.gpu_bind.value, j.evidence.line);
        }
        for (const auto& p : facts.partitions) {
            add("partition", p.name, p.nodes);
        }
        for (const auto& m : facts.matrices) {
            add("matrix", m.node.gpus.size(), m.node.nics.size(), m.node.numa.size());
            for (const auto& gpu : m.node.gpus) {
                add("near", gpu.index, to_string(gpu.cpus));
            }
        }
        for (const auto& t : facts.topologies) {
            add("fabric of nodes and leaves", t.fabrics.front().nodes.size(), t.fabrics.front().leaves().size());
        }
    }

    std::string text_;
};

}  // namespace railhead::test
