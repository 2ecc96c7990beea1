#include "help_text.hpp"

#include "base/text.hpp"
#include "report/table.hpp"

namespace railhead::cli {

namespace {

constexpr std::size_t width = 80;

/// What stands before the words of a line that may be broken.
std::string_view head_of(std::string_view line) {
    const bool is_option =
        line.size() > help_column && line.starts_with("  ") && line[help_column - 1] == ' ';
    return is_option ? line.substr(0, help_column) : std::string_view{};
}

}  // namespace

std::string fit_help(std::string_view help) {
    std::string out;
    for (const auto line : split(help, '\n')) {
        if (report::columns(line) <= width) {
            out += std::string{line} + "\n";
            continue;
        }
        std::string head{head_of(line)};
        for (const auto& piece : report::wrap(line.substr(head.size()), width - head.size())) {
            out += head + piece + "\n";
            head.assign(head.size(), ' ');
        }
    }
    out.pop_back();  // split() gives an empty line behind the last line end
    return out;
}

}  // namespace railhead::cli
