#include "report/hostfile.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace railhead::report {

namespace {

std::string host_lines(const std::string& host, HostFormat format, std::uint32_t slots) {
    switch (format) {
        case HostFormat::hostfile:
            return slots > 0 ? fmt::format("{} slots={}\n", host, slots) : host + "\n";
        case HostFormat::mpich:
            return slots > 0 ? fmt::format("{}:{}\n", host, slots) : host + "\n";
        case HostFormat::slurm: {
            std::string lines;
            for (std::uint32_t task = 0; task < std::max(slots, 1U); ++task) {
                lines += host + "\n";
            }
            return lines;
        }
        case HostFormat::list:
            return host + ",";
    }
    return {};
}

}  // namespace

std::vector<std::string> host_format_words() {
    return {"hostfile", "mpich", "slurm", "list"};
}

std::string hosts_text(std::span<const std::string> hosts, HostFormat format, std::uint32_t slots) {
    std::string out;
    for (const auto& host : hosts) {
        out += host_lines(host, format, slots);
    }
    if (format == HostFormat::list && !out.empty()) {
        out.back() = '\n';
    }
    return out;
}

}  // namespace railhead::report
