#include "support/nccl_logs.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <random>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railhead::test {
namespace {

std::vector<std::string> lines_of(std::string_view log) {
    std::vector<std::string> lines;
    while (!log.empty()) {
        const auto line = log.substr(0, log.find('\n'));
        lines.emplace_back(line);
        log.remove_prefix(std::min(log.size(), line.size() + 1));
    }
    return lines;
}

std::string join(const std::vector<std::string>& lines, std::string_view end = "\n") {
    std::string log;
    for (const auto& line : lines) {
        log += line;
        log += end;
    }
    return log;
}

/// Each match of `pattern` becomes `rename(its first group)`, the same for the same text.
template <class Rename>
std::string replace_all(std::string_view log, const std::regex& pattern, const Rename& rename) {
    const std::string text{log};
    std::string out;
    auto from = text.cbegin();
    for (std::sregex_iterator at{text.begin(), text.end(), pattern}, end; at != end; ++at) {
        out.append(from, (*at)[1].first);
        out += rename((*at)[1].str());
        from = (*at)[1].second;
    }
    return out.append(from, text.cend());
}

std::string rename_hosts(std::string_view log, std::uint32_t seed) {
    static const std::regex prefix{R"(([A-Za-z0-9_.-]+):\d+:\d+ \[\d+\])"};
    static const std::regex of_nccl_tests{R"(Pid +\d+ on +(\S+) device)"};
    std::map<std::string, std::string> names;
    const auto rename = [&](const std::string& host) {
        auto& name = names[host];
        if (name.empty()) {
            name = fmt::format("{}{}{}", "abcdefgh"[seed % 8], seed % 97, "-x") +
                   std::to_string(names.size() * 7 + seed % 5);
        }
        return name;
    };
    return replace_all(replace_all(log, prefix, rename), of_nccl_tests, rename);
}

std::string change_addresses(std::string_view log, std::uint32_t seed) {
    // What is in one subnet stays in one: rails are told apart by it.
    static const std::regex subnet{R"((\d+\.\d+\.\d+)\.\d+)"};
    std::map<std::string, std::string> known;
    return replace_all(log, subnet, [&](const std::string& text) {
        auto& name = known[text];
        if (name.empty()) {
            name = fmt::format("172.{}.{}", 16 + seed % 16, known.size() % 250);
        }
        return name;
    });
}

std::string renumber_ranks(std::string_view log, std::uint32_t seed) {
    static const std::regex rank{R"( rank (\d+) nranks \d+)"};
    static const std::regex watchdog{R"(Rank (\d+)\] Watchdog)"};
    const auto changed = replace_all(log, watchdog, [&](const std::string& number) {
        return std::to_string(std::stoul(number) + seed % 1000);
    });
    // Within the size, which is not known here: ranks change by exclusive or with the lowest bit.
    return replace_all(changed, rank, [&](const std::string& number) {
        return std::to_string(std::stoul(number) ^ 1U);
    });
}

std::string with_crlf(std::string_view log, std::uint32_t) {
    return join(lines_of(log), "\r\n");
}

std::string with_colour(std::string_view log, std::uint32_t seed) {
    auto lines = lines_of(log);
    for (auto& line : lines) {
        line = fmt::format("\x1b[{}m{}\x1b[0m", 31 + seed % 6, line);
    }
    return join(lines);
}

/// As launchers and collectors of logs write before each line.
std::string with_prefixes(std::string_view log, std::uint32_t seed) {
    auto lines = lines_of(log);
    std::size_t at = 0;
    for (auto& line : lines) {
        const std::size_t second = at++ % 60;
        switch (seed % 7) {
            case 0:
                line = fmt::format("{:4}: {}", seed % 16384, line);
                break;
            case 1:
                line = fmt::format("[rank{}]:{}", seed % 512, line);
                break;
            case 2:
                line = fmt::format("[1,{}]<stdout>:{}", seed % 64, line);
                break;
            case 3:
                line = fmt::format("[default{}]:{}", seed % 8, line);
                break;
            case 4:
                line = fmt::format("\x1b[36m(Worker pid={}, ip=10.1.0.{})\x1b[0m {}",
                                   1000 + seed % 1000, seed % 250, line);
                break;
            case 5:
                line = fmt::format("2025-05-16T16:39:{:02}.208-07:00 | {}", second, line);
                break;
            default:
                line = fmt::format("pod/train-{} main {}", seed % 16, line);
                break;
        }
    }
    return join(lines);
}

/// Who prints a line; what has no prefix belongs to the line before it.
std::string speaker(const std::string& line) {
    static const std::regex prefix{R"(([A-Za-z0-9_.-]+:\d+):\d+ (\[\d+\]))"};
    std::smatch match;
    return std::regex_search(line, match, prefix) ? match[1].str() + match[2].str() : "";
}

/// Ranks in another order, each with its lines in their own.
std::string reorder(std::string_view log, std::uint32_t seed) {
    std::map<std::string, std::vector<std::string>> of;
    std::string who;
    for (const auto& line : lines_of(log)) {
        const auto here = speaker(line);
        who = here.empty() ? who : here;
        of[who].push_back(line);
    }
    std::vector<std::vector<std::string>*> order;
    for (auto& [name, lines] : of) {
        order.push_back(&lines);
    }
    std::mt19937 random{seed};
    std::shuffle(order.begin(), order.end(), random);
    std::string out;
    for (const auto* lines : order) {
        out += join(*lines);
    }
    return out;
}

std::string change_all(std::string_view log, std::uint32_t seed) {
    auto text = reorder(log, seed);
    text = renumber_ranks(text, seed);
    text = change_addresses(text, seed);
    text = rename_hosts(text, seed);
    return with_crlf(with_prefixes(text, seed), seed);
}

void add_warnings(const diagnose::NcclLog& log, std::vector<std::string>& facts) {
    for (const auto& warning : log.warnings) {
        facts.push_back(
            fmt::format("warning {}{}{}{} x{}", name_of(warning.kind),
                        warning.status ? fmt::format(" {}", *warning.status) : "",
                        warning.vendor_error ? fmt::format("/{}", *warning.vendor_error) : "",
                        warning.is_consequence() ? " (consequence)" : "", warning.lines));
    }
    if (const auto* cause = log.first_cause()) {
        facts.push_back(fmt::format("first cause {}", name_of(cause->kind)));
    }
    for (const auto& timeout : log.timeouts) {
        facts.push_back(fmt::format("timeout {} {} of {} to {} on {} ranks", timeout.sequence,
                                    timeout.operation, timeout.numel_in, timeout.numel_out,
                                    timeout.ranks.size()));
    }
}

void add_graph(const diagnose::NcclLog& log, std::vector<std::string>& facts) {
    for (const auto& link : log.graph_links) {
        facts.push_back(fmt::format("link {} {} GB/s x{}", link.type, link.gb_s, link.lines));
    }
    for (const auto& below : log.graph_switches) {
        facts.push_back(fmt::format("switch {}: {} | {}", below.id, fmt::join(below.gpus, " "),
                                    fmt::join(below.nics, " ")));
    }
}

}  // namespace

std::vector<std::string> facts_of(const diagnose::NcclLog& log) {
    std::vector<std::string> facts;
    for (const auto& saying : log.sayings) {
        facts.push_back(
            fmt::format("{}: {} x{}", name_of(saying.topic), saying.value, saying.lines));
    }
    for (const auto& path : log.paths) {
        facts.push_back(fmt::format("path {} ({}) x{}", path.kind, name_of(path.path), path.lines));
    }
    for (const auto& gdr : log.gdr) {
        facts.push_back(fmt::format("GDR {} HCA {} {}/{} x{}", gdr.enabled ? "on" : "off", gdr.hca,
                                    gdr.distance.value_or(-1), gdr.limit.value_or(-1), gdr.lines));
    }
    for (const auto& variable : log.variables) {
        facts.push_back(fmt::format("{}{}{} x{}", variable.name,
                                    variable.from_environment ? "=" : " is ", variable.value,
                                    variable.lines));
    }
    for (const auto& size : log.communicators) {
        facts.push_back(
            fmt::format("communicators of {}: {} x{}", size.ranks, size.count, size.lines));
    }
    add_warnings(log, facts);
    add_graph(log, facts);
    std::uint32_t pxn = 0;
    for (const auto& rank : log.ranks) {
        pxn += rank.pxn;
    }
    facts.push_back(fmt::format("ranks {} hosts {} world {} pxn {}", log.ranks.size(),
                                log.hosts.size() - 1, log.world(), pxn));
    std::sort(facts.begin(), facts.end());
    return facts;
}

const std::vector<Disguise>& disguises() {
    static const std::vector<Disguise> all{
        {"hosts have other names", rename_hosts},
        {"addresses are others", change_addresses},
        {"ranks have other numbers", renumber_ranks},
        {"ranks print in another order", reorder},
        {"lines end as on Windows", with_crlf, 1},
        {"lines are coloured", with_colour},
        {"a launcher writes before each line", with_prefixes, 7},
        {"all of it", change_all},
    };
    return all;
}

}  // namespace railhead::test
