#include "job/directives.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::job {

namespace {

/// slurmctld's default for max_script_size.
constexpr std::size_t max_script = std::size_t{4} << 20U;
constexpr std::string_view blanks = " \t\r\n\v\f";

bool is_blank(char c) {
    return blanks.find(c) != std::string_view::npos;
}

bool starts_ignoring_case(std::string_view text, std::string_view prefix) {
    return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

/// The length of a separator of components at the start of `text`, 0 when there is none.
std::size_t separator_length(std::string_view text) {
    for (const std::string_view word : {"hetjob", "packjob"}) {
        if (starts_ignoring_case(text, word) &&
            (text.size() == word.size() || is_blank(text[word.size()]))) {
            return word.size();
        }
    }
    return 0;
}

/// What follows the magic word; nothing when the line does not begin with one.
std::optional<std::string_view> after_magic(std::string_view line) {
    for (const std::string_view magic : {"#SBATCH", "#SLURM"}) {
        if (line.starts_with(magic)) {
            return line.substr(magic.size());
        }
    }
    return std::nullopt;
}

/// Cuts one line into words.
class Cutter {
 public:
    Cutter(std::string_view line, Position start, std::vector<Error>& warnings)
        : line_{line}, start_{std::move(start)}, warnings_{warnings} {}

    /// Adds the words from `at` on.
    Result<> cut(std::size_t at, std::vector<Word>& words);

 private:
    Result<std::optional<std::string>> take_word(std::size_t& at);
    [[nodiscard]] Position position(std::size_t at) const {
        return {start_.file, start_.line, static_cast<unsigned>(at) + 1};
    }
    void warn(std::size_t at, std::string message) {
        warnings_.push_back({Errc::unsupported, std::move(message), position(at)});
    }
    void warn_about_comment(std::size_t at, bool within_word) {
        if (within_word) {
            warn(at, "sbatch takes the rest of the line, from this \"#\" on, for a comment");
        }
    }
    void warn_about_blank(std::size_t at, char quote) {
        if (quote == 0) {
            warn(at, "sbatch before 24.05 splits the word here in spite of the backslash");
        }
    }

    std::string_view line_;
    Position start_;
    std::vector<Error>& warnings_;
};

/// Takes one word; nothing when sbatch stops reading the line here.
Result<std::optional<std::string>> Cutter::take_word(std::size_t& at) {
    const auto start = at;
    std::string word;
    char quote = 0;
    bool escaped = false;
    for (; at < line_.size() && (quote != 0 || !is_blank(line_[at])); ++at) {
        const char c = line_[at];
        if (std::exchange(escaped, false)) {
            word += c;
            continue;
        }
        if (c == '\\' && line_.substr(at + 1).starts_with(' ')) {
            word += line_[++at];
            warn_about_blank(at, quote);
        } else if (c == '\\') {
            escaped = true;
        } else if (c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '"' || c == '\'')) {
            quote = c;
        } else if (quote == 0 && c == '#') {
            warn_about_comment(at, at > start);
            break;
        } else {
            word += c;
        }
    }
    if (quote != 0) {
        return fail(Errc::bad_input, fmt::format("a quote ({}) that is not closed", quote),
                    position(start));
    }
    return word.empty() ? std::nullopt : std::optional{std::move(word)};
}

Result<> Cutter::cut(std::size_t at, std::vector<Word>& words) {
    for (;;) {
        at = std::min(line_.find_first_not_of(blanks, at), line_.size());
        if (at == line_.size()) {
            return {};
        }
        if (separator_length(line_.substr(at)) > 0) {
            warn(at,
                 "sbatch reads nothing from here to the end of the line: a component "
                 "begins with a line \"#SBATCH hetjob\" of its own");
            return {};
        }
        if (line_[at] == ':') {
            return fail(Errc::bad_input, "a word that begins with \":\"", position(at));
        }
        const auto start = at;
        auto word = take_word(at);
        if (!word) {
            return propagate(word);
        }
        if (!*word) {
            if (line_[start] != '#') {
                warn(start, "sbatch stops reading the line at this empty word");
            }
            return {};
        }
        words.push_back({std::move(**word), position(start)});
    }
}

/// Notices lines that a person takes for directives and sbatch does not.
class Impostors {
 public:
    Impostors(const std::string& file, std::vector<Error>& warnings)
        : file_{file}, warnings_{warnings} {}

    /// Looks at a line above the first command.
    void look_above(std::string_view line, unsigned number) {
        const auto start = line.find_first_not_of(blanks);
        const auto trimmed = start == std::string_view::npos ? "" : line.substr(start);
        if (start > 0 && after_magic(trimmed)) {
            warn(number, "blanks before \"#SBATCH\" make it a comment");
        } else if (starts_ignoring_case(trimmed, "#sbatch")) {
            warn(number, "sbatch wants \"#SBATCH\" in capital letters: this is a comment");
        } else if (trimmed.starts_with("#PBS") || trimmed.starts_with("#BSUB")) {
            foreign(number);
        } else if (trimmed.starts_with("!#SBATCH")) {
            warn(number, "\"!#SBATCH\" is no directive but a command");
        }
    }
    /// Looks at a line behind it.
    void look_below(std::string_view line, unsigned number) {
        if (after_magic(line) && !std::exchange(below_seen_, true)) {
            warn(number, "sbatch reads no #SBATCH line behind the first command");
        }
    }

 private:
    void foreign(unsigned number) {
        if (!std::exchange(foreign_seen_, true)) {
            warn(number,
                 "sbatch also obeys #PBS and #BSUB lines, unless --ignore-pbs is given; "
                 "they are not read here");
        }
    }
    void warn(unsigned number, std::string message) {
        warnings_.push_back({Errc::unsupported, std::move(message), {file_, number, 1}});
    }

    const std::string& file_;
    std::vector<Error>& warnings_;
    bool below_seen_ = false;
    bool foreign_seen_ = false;
};

/// What sbatch checks before it reads a line.
Result<> check_script(std::string_view text, const std::string& file) {
    const auto refuse = [&](std::size_t at, std::string message) {
        const auto before = text.substr(0, at);
        const auto lines = std::ranges::count(before, '\n');
        const auto column = at - (before.rfind('\n') + 1);  // npos + 1 is 0
        return fail(Errc::bad_input, std::move(message),
                    {file, static_cast<unsigned>(lines) + 1, static_cast<unsigned>(column) + 1});
    };
    if (text.find_first_not_of(blanks) == std::string_view::npos) {
        return refuse(0, "the script is empty");
    }
    if (!text.starts_with("#!")) {
        return refuse(0, "a batch script begins with \"#!\" and the path of an interpreter");
    }
    if (text.size() > max_script) {
        return refuse(0, fmt::format("the script is larger than {} MiB", max_script >> 20U));
    }
    if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
        return refuse(nul, "a NUL byte: slurmctld refuses such a script");
    }
    if (const auto dos = text.find("\r\n"); dos != std::string_view::npos) {
        return refuse(dos, "DOS line ends: sbatch wants UNIX ones (dos2unix)");
    }
    return {};
}

bool is_command(std::string_view line) {
    const auto start = line.find_first_not_of(blanks);
    return start != std::string_view::npos && line[start] != '#';
}

/// Adds the words of a directive, or begins a component.
Result<> read_line(std::string_view line, Position where, Directives& directives,
                   std::vector<Error>& warnings) {
    const auto rest = *after_magic(line);
    const auto at = line.size() - rest.size();
    const auto word = std::min(line.find_first_not_of(blanks, at), line.size());
    if (const auto length = separator_length(line.substr(word)); length > 0) {
        directives.emplace_back();
        const auto more = line.find_first_not_of(blanks, word + length);
        if (more != std::string_view::npos && line[more] != '#') {
            where.column = static_cast<unsigned>(more) + 1;
            warnings.push_back(
                {Errc::unsupported, "sbatch reads nothing behind \"hetjob\" on its line", where});
        }
        return {};
    }
    return Cutter{line, std::move(where), warnings}.cut(at, directives.back());
}

}  // namespace

Result<Directives> read_directives(std::string_view text, const std::string& file,
                                   std::vector<Error>& warnings) {
    if (auto fine = check_script(text, file); !fine) {
        return propagate(fine);
    }
    Directives directives(1);
    Impostors impostors{file, warnings};
    bool commands = false;
    unsigned number = 0;
    for (const auto line : split(text, '\n')) {
        ++number;
        if (commands) {
            impostors.look_below(line, number);
        } else if (after_magic(line)) {
            if (auto read = read_line(line, {file, number, 1}, directives, warnings); !read) {
                return propagate(read);
            }
        } else {
            impostors.look_above(line, number);
            commands = is_command(line);
        }
    }
    return directives;
}

}  // namespace railhead::job
