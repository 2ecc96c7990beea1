// How far the model of collectives is from what was measured.  Nothing in it is fitted to these
// sweeps, so each system is scored by what was known before it was measured.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "fabric/collective_model.hpp"
#include "fabric/collective_parts.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/published.hpp"
#include "training/catalogue.hpp"

namespace fabric = railhead::fabric;
namespace training = railhead::training;
using fabric::Collective;
using fabric::CollectiveModel;
using fabric::System;
using railhead::test::read_published;

namespace {

constexpr double mib = 0x1p20;
constexpr double micro = 1e-6;

/// A system by the names of its parts in the catalogue; one without a network is one node.
System system_of(std::string_view accelerator, std::string_view nic, std::uint64_t nodes,
                 fabric::Cpu cpu = fabric::Cpu::intel) {
    const auto& catalogue = training::built_in_catalogue();
    const auto* known = training::find_accelerator(catalogue, accelerator).value();
    const auto part =
        fabric::make_gpu_part(known->name, known->scale_up_bytes_per_s.value(), 0, {}).value();
    System system;
    system.nodes = nodes;
    system.generation = part.generation;
    system.nvlink_bytes_per_s = part.nvlink_bytes_per_s;
    system.nvls = part.has_nvls;
    system.cpu = cpu;
    if (!nic.empty()) {
        const auto* network = training::find_nic(catalogue, nic).value();
        system.nics_per_node = network->per_node;
        system.nic_bytes_per_s = network->port_bytes_per_s();
        const auto latency = fabric::latency_of(network->name);
        system.network_latency_us = latency.told_us;
        system.network_step_us = latency.step_us;
        system.network_completion_us = latency.completion_us;
    }
    return system;
}

struct Scored {
    std::string name;  ///< in the table
    System system;
};

/// Those with a sweep over sizes.
std::vector<Scored> scored() {
    return {
        {"8xA100 NVLink3", system_of("a100", "", 1)},
        {"AWS p5 8xH100 NVLink only", system_of("h100", "", 1)},
        {"8xH200 NVLink4 (NVLS)", system_of("h200", "", 1)},
        {"AWS p6-b200 8xB200 NVLink5", system_of("b200", "", 1)},
        {"AWS p4de 8xA100-80GB EFA 400G", system_of("a100", "efa-v1", 2)},
        {"AWS p5 8xH100 EFA 3200G", system_of("h100", "efa-v2", 2, fabric::Cpu::amd)},
        {"AWS p5 8xH100 EFA 3200G (EKS log)", system_of("h100", "efa-v2", 2, fabric::Cpu::amd)},
        {"AWS p6-b200 8xB200 EFAv4 8x400G", system_of("b200", "efa-v4", 4)},
    };
}

double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    const auto at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

struct Point {
    double bytes, time_us;
};

/// Median and p90 of |predicted / measured - 1|, in percent.
struct Error {
    double median = 0, p90 = 0;
};

template <class Predict>
Error error_of(const std::vector<Point>& points, Predict predict_us) {
    std::vector<double> errors;
    for (const auto& point : points) {
        errors.push_back(std::abs(predict_us(point.bytes) / point.time_us - 1) * 100);
    }
    return {quantile(errors, 0.5), quantile(errors, 0.9)};
}

std::vector<Point> from(const std::vector<Point>& points, double least) {
    std::vector<Point> kept;
    std::ranges::copy_if(points, std::back_inserter(kept),
                         [&](const Point& point) { return point.bytes >= least; });
    return kept;
}

/// Latency + size / bandwidth, from the same facts as the model.
auto plain(const CollectiveModel& model) {
    double latency = HUGE_VAL;
    double wire = 0;
    for (const auto& candidate : model.candidates()) {
        latency = std::min(latency, candidate.taken_us);
        wire = std::max(wire, candidate.wire_bytes_per_s);
    }
    return [=](double bytes) { return latency + bytes / wire / micro; };
}

/// Latency + size / bandwidth through the quickest and the largest size that were measured: the
/// system itself is known to it.
auto through_ends(const std::vector<Point>& points) {
    const auto latency = std::ranges::min(points, {}, &Point::time_us).time_us;
    const auto largest = std::ranges::max(points, {}, &Point::bytes);
    const auto slope = (largest.time_us - latency) / largest.bytes;
    return [=](double bytes) { return latency + slope * bytes; };
}

std::map<std::string, std::vector<Point>> sweeps() {
    std::map<std::string, std::vector<Point>> all;
    for (const auto& row : read_published("nccl_measured_sweeps")) {
        if (row.text("collective") == "all_reduce") {
            all[row.text("system")].push_back({row.number("bytes"), row.number("time_us")});
        }
    }
    return all;
}

/// The cells of the row of a table in docs/allreduce.md that begins with `first`.
std::vector<std::string> documented(const std::string& first) {
    const auto text = railhead::read_file(railhead::test::checkout("docs/allreduce.md"));
    REQUIRE(text);
    for (const auto line : railhead::split(*text, '\n')) {
        const auto cells = railhead::split(line, '|');
        if (cells.size() > 2 && railhead::trim(cells[1]) == first) {
            std::vector<std::string> row;
            for (std::size_t i = 2; i + 1 < cells.size(); ++i) {
                row.emplace_back(railhead::trim(cells[i]));
            }
            return row;
        }
    }
    return {};
}

/// No figure may be worse than what docs/allreduce.md says, and none better without its saying so.
void check_documented(const std::string& name, const std::vector<double>& figures) {
    const auto cells = documented(name);
    std::string row = "| " + name;
    for (const auto figure : figures) {
        row += fmt::format(" | {:.1f}", figure);
    }
    INFO("docs/allreduce.md should have: " << row << " |");
    CHECK(cells.size() == figures.size());
    constexpr double rounding = 0.051;
    for (std::size_t i = 0; i < std::min(cells.size(), figures.size()); ++i) {
        CAPTURE(i, cells[i], figures[i]);
        CHECK(std::abs(std::strtod(cells[i].c_str(), nullptr) - figures[i]) < rounding);
    }
}

}  // namespace

TEST_CASE("errors against measured sweeps are those of docs/allreduce.md",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto measured = sweeps();
    for (const auto& [name, system] : scored()) {
        CAPTURE(name);
        const auto points = from(measured.at(name), mib);
        REQUIRE(points.size() >= 6);
        const auto model = CollectiveModel::make(system, Collective::all_reduce).value();
        const auto ours = [&](double bytes) { return model.predict(bytes).time_us; };

        const auto large = error_of(points, ours);
        const auto all = error_of(measured.at(name), ours);
        const auto ours_nccl =
            error_of(points, [&](double bytes) { return model.predict(bytes).tuner_us; });
        const auto line = error_of(points, plain(model));
        const auto fitted = error_of(points, through_ends(measured.at(name)));

        check_documented(name,
                         {static_cast<double>(points.size()), large.median, large.p90, line.median,
                          line.p90, fitted.median, fitted.p90, ours_nccl.median, all.median});
    }
}

TEST_CASE("the exponent would hardly be another, were it fitted to the other systems",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto measured = sweeps();
    // Mean of |log(predicted / measured)| of a system, with (L^p + (S / B)^p)^(1 / p).
    const auto loss = [&](const Scored& one, double exponent) {
        const auto model = CollectiveModel::make(one.system, Collective::all_reduce).value();
        double sum = 0;
        std::size_t count = 0;
        constexpr double warm = 128 * 1024;  // below, two sizes on p6-b200 took ms: its warm-up
        for (const auto& point : from(measured.at(one.name), warm)) {
            const auto terms = model.predict(point.bytes);
            const auto time_us =
                std::pow(std::pow(terms.latency_us, exponent) +
                             std::pow(point.bytes / terms.wire_bytes_per_s / micro, exponent),
                         1 / exponent);
            sum += std::abs(std::log(time_us / point.time_us));
            ++count;
        }
        return sum / static_cast<double>(count);
    };
    for (const auto& left_out : scored()) {
        CAPTURE(left_out.name);
        double best = 0;
        double least = HUGE_VAL;
        for (int i = 20; i <= 50; ++i) {
            const auto exponent = i / 50.0;
            double all = 0;
            for (const auto& one : scored()) {
                // The EKS log is of the same instances as the sweep: both are left out together.
                const bool is_p5 = left_out.name.starts_with("AWS p5 8xH100 EFA");
                if (one.name != left_out.name &&
                    !(is_p5 && one.name.starts_with("AWS p5 8xH100 EFA"))) {
                    all += loss(one, exponent);
                }
            }
            if (all < least) {
                least = all;
                best = exponent;
            }
        }
        CAPTURE(best);
        CHECK(best >= 0.46);
        CHECK(best <= 0.51);
    }
}

TEST_CASE("EFA would be predicted worse, were a step to take what its plugin tells NCCL",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    for (auto [name, system] : scored()) {
        if (system.network_step_us <= 0) {
            continue;
        }
        CAPTURE(name);
        system.network_step_us = 0;
        const auto model = CollectiveModel::make(system, Collective::all_reduce).value();
        const auto error = error_of(from(sweeps().at(name), mib),
                                    [&](double bytes) { return model.predict(bytes).time_us; });
        check_documented(name + ", as told", {error.median, error.p90});
    }
}

TEST_CASE("the smallest all-reduce on p5en, which is scored by no sweep, takes steps of 20 us",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto points = sweeps().at("AWS p5en 8xH200 EFA 3200G");
    const auto second = std::ranges::find(points, 16.0, &Point::bytes);  // the first is warm-up
    REQUIRE(second != points.end());
    const auto model =
        CollectiveModel::make(system_of("h200", "efa-v3", 16), Collective::all_reduce).value();
    const auto error = model.predict(second->bytes).time_us / second->time_us - 1;
    CHECK(std::abs(error) < 0.06);
}

TEST_CASE("errors against NVIDIA's plot of NVLSTree on 32 to 8192 H100 are those of the docs",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, double> sizes{{"16M", 16 * mib},   {"64M", 64 * mib},
                                              {"256M", 256 * mib}, {"1G", 1024 * mib},
                                              {"8G", 8192 * mib},  {"16G", 16384 * mib}};
    std::map<std::string, std::vector<Point>> points;  // "bytes" are nodes here
    for (const auto& row : read_published("nvlstree_h100_scaling_plot")) {
        const auto gpus = static_cast<std::uint64_t>(row.number("gpus"));
        const auto bytes = sizes.at(row.text("size"));
        const auto busbw = row.number("busbw_gbs_read_from_plot") * 1e9;
        points[row.text("size")].push_back(
            {static_cast<double>(gpus) / 8,
             bytes * fabric::busbw_factor(Collective::all_reduce, gpus) / busbw / micro});
    }
    REQUIRE(points.size() == 5);
    for (const auto& [size, measured] : points) {
        CAPTURE(size);
        CHECK(measured.size() == 9);
        const auto bytes = sizes.at(size);
        const auto predict = [&](double nodes) {
            return CollectiveModel::make(
                       system_of("h100", "ndr", static_cast<std::uint64_t>(nodes)),
                       Collective::all_reduce)
                .value()
                .predict(bytes);
        };
        const auto ours = error_of(measured, [&](double nodes) { return predict(nodes).time_us; });
        const auto nccl = error_of(measured, [&](double nodes) { return predict(nodes).tuner_us; });
        check_documented("NVLSTree " + size, {ours.median, ours.p90, nccl.median, nccl.p90});
    }
}

TEST_CASE("systems of which one large size was measured are within 10 %, but for those listed",
          "[collective][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, System> systems{
        {"H200 NVLink4 Ring", system_of("h200", "", 1)},
        {"H200 NVLink4 NVLS off", system_of("h200", "", 1)},
        {"H200 NVLink4 NVLS", system_of("h200", "", 1)},
        {"8xH200 NVLink4 NVLS", system_of("h200", "", 1)},
        {"8xH200 NVLink4 Ring", system_of("h200", "", 1)},
        {"B200 NVLink5 Ring", system_of("b200", "", 1)},
        {"B200 NVLink5 NVLS off", system_of("b200", "", 1)},
        {"B200 NVLink5 NVLS", system_of("b200", "", 1)},
        {"Voltage Park 8xH100", system_of("h100", "", 1)},
        {"Voltage Park 8xH100 NDR 3.2T", system_of("h100", "ndr", 4)},
        {"AWS p5en 8xH200 EFA 3200G", system_of("h200", "efa-v3", 4)},
    };
    const std::map<std::string, double> worse{
        // A tenant's fabric gave 331 GB/s of the 370 that NVIDIA's slides have for such NICs.
        {"Voltage Park 8xH100 NDR 3.2T 32", 0.13},
        // NCCL 5067397 takes the ring with 6 B200, the measured release took NVLS.
        {"B200 NVLink5 NVLS 6", 0.15},
    };
    std::size_t compared = 0;
    std::size_t not_modelled = 0;
    for (const auto& row : read_published("nccl_measured_sweeps")) {
        const auto& name = row.text("system");
        if (name.starts_with("MI300X")) {
            ++not_modelled;  // a mesh without a switch, and RCCL: NCCL's constants are not its own
            continue;
        }
        constexpr double large = 4e9;
        if (!systems.contains(name) || row.number("bytes") < large) {
            continue;
        }
        CAPTURE(name, row.text("ranks"), row.text("collective"));
        auto system = systems.at(name);
        const auto ranks = static_cast<std::uint64_t>(row.number("ranks"));
        system.nodes = static_cast<std::uint64_t>(row.number("nodes"));
        system.gpus_per_node = ranks / system.nodes;
        system.nvls = system.nvls && !name.ends_with("off") && !name.ends_with("Ring");
        const auto predicted =
            CollectiveModel::make(system, fabric::find_collective(row.text("collective")).value())
                .value()
                .predict(row.number("bytes"));
        const auto listed = worse.find(name + " " + row.text("ranks"));
        CHECK(std::abs(predicted.time_us / row.number("time_us") - 1) <
              (listed == worse.end() ? 0.1 : listed->second));
        ++compared;
    }
    CHECK(compared == 28);
    CHECK(not_modelled == 2);
}
