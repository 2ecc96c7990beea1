// Rules on tables of nccl-tests.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/modelled.hpp"
#include "diagnose/rules.hpp"
#include "training/catalogue.hpp"

namespace railhead::diagnose {

namespace {

constexpr double mib = 1024.0 * 1024;
constexpr double large_bytes = 128 * mib;
constexpr double small_bytes = 8 * 1024;

double best_busbw(const fabric::MeasuredRow& row) {
    return std::max(row.busbw_gb_per_s, row.in_place_busbw_gb_per_s.value_or(0));
}

/// The fastest row of a large size; null where there is none.
const fabric::MeasuredRow* fastest(const fabric::NcclTests& table) {
    const fabric::MeasuredRow* best = nullptr;
    for (const auto& row : table.rows) {
        if (row.bytes >= large_bytes && (best == nullptr || best_busbw(row) > best_busbw(*best))) {
            best = &row;
        }
    }
    return best;
}

Evidence whole(const BandwidthFacts& one, std::string text) {
    return {one.file, 0, std::move(text)};
}

std::string row_text(const fabric::MeasuredRow& row) {
    return fmt::format("{:.4g} MiB: {:.4g} us, bus bandwidth {:.4g} GB/s", row.bytes / mib,
                       row.time_us, best_busbw(row));
}

/// The first table that `check` finds something in; else what it says of the last.
template <class Check>
Finding over_tables(const Facts& facts, Check check) {
    auto answer = unknown({Input::bandwidth});
    for (const auto& one : facts.bandwidth) {
        auto finding = check(one);
        if (finding.answer == Answer::found) {
            return finding;
        }
        if (answer.answer == Answer::unknown) {
            answer = std::move(finding);
        }
    }
    return answer;
}

Finding find_wrong(const Facts& facts) {
    return over_tables(facts, [](const BandwidthFacts& one) {
        if (one.table.rows.empty()) {
            return unknown({Input::bandwidth});
        }
        if (one.table.wrong() == 0) {
            return not_found();
        }
        auto finding =
            found(Confidence::certain,
                  fmt::format("{} came out wrong: memory, a link or a library corrupts data.",
                              count_of(one.table.wrong(), "value")),
                  {whole(one, "#wrong")});
        finding.fix = {"dcgmi diag -r 4 on each node",
                       "the same table on each node apart, then on pairs: which node is in all",
                       "NCCL_PROTO=Simple tells whether the LL protocols are at fault"};
        finding.expected = "results that can be trusted";
        return finding;
    });
}

/// What such a speed is known from.
std::string looks_like(double share, double nics) {
    constexpr double near = 0.2;
    if (nics > 1 && share <= (1 + near) / nics) {
        return " That is what one NIC carries.";
    }
    constexpr double without_gdr = 33.3 / 93;  // NVIDIA/nccl #1412
    if (share <= without_gdr * (1 + near)) {
        return " GPUDirect RDMA that is off looks so (33 in place of 93 GB/s, NVIDIA/nccl #1412).";
    }
    return fmt::format(" It is as if {:.0f} of {:.0f} NICs were used.", share * nics, nics);
}

Finding slow_network(const Facts& facts, const BandwidthFacts& one) {
    const auto& hardware = facts.hardware;
    const auto* row = fastest(one.table);
    if (one.table.hosts == 1) {
        return not_found();  // what the network can do is not in this table
    }
    if (row == nullptr) {
        return unknown({Input::large_sizes});
    }
    if (hardware.nic == nullptr || one.table.hosts == 0) {
        return unknown({Input::network});
    }
    const double nics =
        static_cast<double>(hardware.nics_per_node != 0 ? hardware.nics_per_node
                                                        : std::uint64_t{hardware.nic->per_node});
    constexpr double of_line = 0.94;  // 23.5 of 25 GB/s, 47 of 50
    const double port =
        hardware.nic->measured_bytes_per_s.value_or(of_line * hardware.nic->port_bytes_per_s());
    const double expected = nics * port / 1e9;
    constexpr double healthy = 0.7;
    const double share = best_busbw(*row) / expected;
    if (share >= healthy) {
        return not_found();
    }
    auto finding = found(
        Confidence::likely,
        fmt::format("The bus bandwidth over {} is {:.3g} GB/s of the {:.3g} GB/s that {:.0f} of "
                    "\"{}\" reach.{}",
                    count_of(one.table.hosts, "node"), best_busbw(*row), expected, nics,
                    hardware.nic->name, looks_like(share, nics)),
        {whole(one, row_text(*row))});
    finding.fix = {"NCCL_DEBUG=INFO in the same test, and railhead diagnose on its output",
                   "railhead rails; railhead health on each node",
                   "lsmod | grep nvidia_peermem; modprobe nvidia-peermem"};
    finding.expected =
        fmt::format("{:.3g} GB/s: {:.0f} x {:.3g} GB/s a port", expected, nics, port / 1e9);
    return finding;
}

Finding find_slow_network(const Facts& facts) {
    return over_tables(facts, [&](const BandwidthFacts& one) { return slow_network(facts, one); });
}

Finding find_lost_nvlink(const Facts& facts) {
    return over_tables(facts, [](const BandwidthFacts& one) {
        if (one.table.hosts != 1) {
            return one.table.hosts == 0 ? unknown({Input::accelerator}) : not_found();
        }
        const auto* gpu = accelerator_of(one.table.device);
        const auto* row = fastest(one.table);
        if (gpu == nullptr) {
            return unknown({Input::accelerator});
        }
        if (!gpu->scale_up_bytes_per_s || !gpu->pcie_bytes_per_s) {
            return not_found();  // there is none to lose
        }
        if (row == nullptr) {
            return unknown({Input::large_sizes});
        }
        const double pcie = *gpu->pcie_bytes_per_s / 1e9;
        if (best_busbw(*row) > pcie || *gpu->scale_up_bytes_per_s <= *gpu->pcie_bytes_per_s) {
            return not_found();
        }
        auto finding =
            found(Confidence::likely,
                  fmt::format("On one node of {} the bus bandwidth is {:.3g} GB/s, no more than "
                              "PCIe's {:.3g} GB/s: the GPUs do not use NVLink.",
                              gpu->name, best_busbw(*row), pcie),
                  {whole(one, row_text(*row))});
        finding.fix = {"nvidia-smi topo -m and nvidia-smi nvlink -s on the node",
                       "srun --gpus-per-node=N --gpu-bind=none, not --gpus-per-task",
                       "NCCL_DEBUG=INFO: connections via SHM instead of P2P"};
        finding.expected = fmt::format("up to {:.3g} GB/s, NVLink's one direction",
                                       *gpu->scale_up_bytes_per_s / 1e9);
        return finding;
    });
}

/// The slowest fabric that is known to be well takes 161 us for 8 bytes on two nodes (AWS p4d,
/// EFA).
Finding find_latency(const Facts& facts) {
    return over_tables(facts, [](const BandwidthFacts& one) {
        std::vector<double> times;
        double worst = 0;
        for (const auto& row : one.table.rows) {
            if (row.bytes <= small_bytes) {
                times.push_back(row.time_us);
                worst = std::max(worst, row.time_us);
            }
        }
        if (times.size() < 3) {
            return unknown({Input::small_sizes});
        }
        constexpr double healthy_us = 250;
        constexpr std::uint64_t most_hosts = 8;
        const double usual = training::median_of(times);
        if (usual < healthy_us) {
            return not_found();
        }
        if (one.table.hosts > most_hosts) {
            return unknown({Input::small_sizes});  // of two nodes
        }
        auto finding = found(
            Confidence::likely,
            fmt::format("Small collectives take {:.0f} us (the worst {:.0f} us), ten times as long "
                        "as on a node that is well: 30 to 60 us over RDMA, 161 us on AWS p4d. The "
                        "network has no such latency: it is the host, where threads of NCCL wait "
                        "for a CPU.",
                        usual, worst),
            {whole(one, fmt::format("{} of at most 8 KiB", count_of(times.size(), "row")))});
        finding.fix = {
            "srun -l grep Cpus_allowed_list /proc/self/status: which CPUs the ranks may use",
            "srun --cpus-per-task=N --cpu-bind=none, or let the plugin bind",
            "in a container: give it the CPUs of the node (no cpuset), not a quota"};
        finding.expected = "30 to 60 us for 8 bytes on two nodes over RDMA";
        return finding;
    });
}

Finding find_dip(const Facts& facts) {
    return over_tables(facts, [](const BandwidthFacts& one) {
        const fabric::MeasuredRow* best = nullptr;
        for (const auto& row : one.table.rows) {
            constexpr double kept = 0.6;
            if (row.bytes < large_bytes) {
                continue;
            }
            if (best != nullptr && best_busbw(row) < kept * best_busbw(*best)) {
                auto finding = found(
                    Confidence::possible,
                    fmt::format(
                        "{:.4g} MiB reach {:.3g} GB/s, where {:.4g} MiB reached {:.3g} GB/s: "
                        "large messages should be no slower.",
                        row.bytes / mib, best_busbw(row), best->bytes / mib, best_busbw(*best)),
                    {whole(one, row_text(row))});
                finding.role = Role::symptom;
                finding.fix = {"run it again while the network is idle: other jobs share links",
                               "ethtool -S / perfquery: pause frames, discards",
                               "NCCL_ALGO=Ring and NCCL_ALGO=Tree apart"};
                finding.expected = fmt::format("{:.3g} GB/s", best_busbw(*best));
                return finding;
            }
            if (best == nullptr || best_busbw(row) > best_busbw(*best)) {
                best = &row;
            }
        }
        return best == nullptr ? unknown({Input::large_sizes}) : not_found();
    });
}

constexpr Rule rules[] = {
    {"wrong-results",
     "collectives with wrong results",
     "a model that is trained on them is lost",
     {},
     find_wrong},
    {"slow-network",
     "less bandwidth between nodes than their NICs have",
     "gradients that take longer than the backward pass stop the GPUs",
     {},
     find_slow_network},
    {"no-nvlink",
     "GPUs of a node that talk over PCIe",
     "NVLink is ten times faster",
     {},
     find_lost_nvlink},
    {"high-latency",
     "small collectives that take long",
     "pipelines and tensor parallelism wait for small messages all the time",
     {},
     find_latency,
     true},
    {"bandwidth-dip",
     "large messages that are slower than smaller ones",
     "gradients are sent in large messages",
     {},
     find_dip,
     true},
};

}  // namespace

std::span<const Rule> bandwidth_rules() {
    return rules;
}

}  // namespace railhead::diagnose
