#include "report/policy_test.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/script.hpp"
#include "report/explain.hpp"

namespace railhead::report {

namespace {

bool is_variable(std::string_view name) {
    const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::ranges::all_of(name, in_name);
}

}  // namespace

Result<Submission> parse_submission(std::string_view text, const std::string& file) {
    Submission submission;
    unsigned number = 0;
    for (const auto written : split(text, '\n')) {
        ++number;
        const auto line = trim(written);
        const auto equals = line.find('=');
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        if (line.starts_with('-') || line.starts_with(':')) {
            for (const auto word : split_words(line)) {
                submission.arguments.emplace_back(word);
            }
        } else if (equals != std::string_view::npos && is_variable(line.substr(0, equals))) {
            submission.environment[std::string{line.substr(0, equals)}] = line.substr(equals + 1);
        } else {
            const auto column = static_cast<unsigned>(written.find(line.front())) + 1;
            return fail(Errc::bad_input,
                        fmt::format("expected an sbatch option or NAME=value, not \"{}\"",
                                    printable(line.substr(0, 60))),
                        {file, number, column});
        }
    }
    return submission;
}

std::string reviewed_text(const std::string& name, std::string_view text,
                          const Submission& submission, const policy::Site& site) {
    auto script = job::parse_script(text, name, submission.arguments, submission.environment);
    if (!script) {
        return fmt::format("sbatch refuses it: {}\n", printable(to_string(script.error())));
    }
    const auto reviewed = review_script(std::move(*script), site, 0);  // the same on every day
    auto out = explain_text(name, reviewed.components(), site);
    for (const auto& warning : reviewed.script.warnings) {
        out += fmt::format("\nwarning: {}\n", printable(to_string(warning)));
    }
    return out;
}

}  // namespace railhead::report
