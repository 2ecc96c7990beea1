#include "rails/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

constexpr std::string_view header = "railhead-findings\t1";
constexpr std::string_view trailer = "end";

std::string field(std::string_view text) {
    auto out = printable(text);
    std::ranges::replace(out, '\t', ' ');
    return out;
}

}  // namespace

std::string_view to_string(Severity severity) {
    return severity == Severity::advice ? "advice" : "fault";
}

std::string health_line(const std::vector<Finding>& findings, bool with_advice, std::size_t most) {
    std::string line;
    std::size_t left = static_cast<std::size_t>(std::ranges::count_if(findings, [&](auto& finding) {
        return with_advice || finding.severity == Severity::fault;
    }));
    for (const auto& [severity, nic, what, remedy] : findings) {
        if (severity == Severity::advice && !with_advice) {
            continue;
        }
        const auto text = fmt::format("{}{}{}{}", line.empty() ? "" : "; ", nic,
                                      nic.empty() ? "" : " ", field(what));
        // Room for "; 99 more" unless this is the last one.
        const std::size_t tail = left > 1 ? std::string_view{"; 99 more"}.size() : 0;
        if (line.size() + text.size() + tail > most) {
            return line.empty() ? text.substr(0, most) : fmt::format("{}; {} more", line, left);
        }
        line += text;
        --left;
    }
    return line;
}

std::string to_wire(const std::vector<Finding>& findings) {
    auto out = fmt::format("{}\n", header);
    for (const auto& finding : findings) {
        out += fmt::format("{}\t{}\t{}\t{}\n", to_string(finding.severity), field(finding.nic),
                           field(finding.what), field(finding.remedy));
    }
    return fmt::format("{}{}\n", out, trailer);
}

Result<std::vector<Finding>> findings_from_wire(std::string_view text) {
    const auto lines = split(text, '\n');
    const auto bad = [](std::size_t line) {
        return fail(Errc::bad_input, "not findings that Railhead wrote",
                    {"", static_cast<unsigned>(line + 1), 1});
    };
    const auto count = lines.size();
    if (count < 3 || lines.front() != header || lines[count - 2] != trailer ||
        !lines.back().empty()) {
        return bad(0);
    }
    std::vector<Finding> findings;
    for (std::size_t i = 1; i + 2 < count; ++i) {
        const auto fields = split(lines[i], '\t');
        if (fields.size() != 4 || (fields[0] != "advice" && fields[0] != "fault")) {
            return bad(i);
        }
        findings.push_back({fields[0] == "fault" ? Severity::fault : Severity::advice,
                            std::string{fields[1]}, std::string{fields[2]},
                            std::string{fields[3]}});
    }
    return findings;
}

}  // namespace railhead::rails
