#include "job/batch_script.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace railhead::job {

namespace {

constexpr std::array<std::string_view, 8> shells{"sh",  "bash", "dash", "zsh",
                                                 "ksh", "csh",  "tcsh", "fish"};

/// Programs that start the ranks themselves and do not hand USR1 and its like on.
constexpr std::array<std::string_view, 9> launchers{"torchrun",
                                                    "torch.distributed.run",
                                                    "torch.distributed.launch",
                                                    "accelerate",
                                                    "deepspeed",
                                                    "mpirun",
                                                    "mpiexec",
                                                    "horovodrun",
                                                    "ray"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::ranges::find(words, word) != words.end();
}

constexpr auto npos = std::string_view::npos;

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// What stands between words: blanks and the shell's own signs.
constexpr auto between = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view{" \t;|&(){}\"'`<>=$,"}) {
        table.at(static_cast<unsigned char>(c)) = true;
    }
    return table;
}();

bool is_between(char c) {
    return between[static_cast<unsigned char>(c)];
}

/// Takes the next word off `text`; empty at its end.
std::string_view take_word(std::string_view& text) {
    std::size_t begin = 0;
    while (begin < text.size() && is_between(text[begin])) {
        ++begin;
    }
    auto end = begin;
    while (end < text.size() && !is_between(text[end])) {
        ++end;
    }
    const auto word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

std::string_view take_line(std::string_view& text) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

bool is_shell(std::string_view first_line) {
    if (!first_line.starts_with("#!")) {
        return true;
    }
    first_line.remove_prefix(2);
    auto program = file_name(take_word(first_line));
    while (program == "env" || program.starts_with('-')) {
        program = file_name(take_word(first_line));
    }
    return is_one_of(program, shells);
}

/// "USR1", "SIGUSR1"; the case does not count.
bool names_signal(std::string_view word, std::string_view signal) {
    constexpr std::string_view prefix = "SIG";
    const bool prefixed =
        word.size() > prefix.size() && equals_ignoring_case(word.substr(0, prefix.size()), prefix);
    return equals_ignoring_case(prefixed ? word.substr(prefix.size()) : word, signal);
}

/// "exec 2>log" only moves descriptors.
bool is_program(std::string_view after_exec) {
    const auto first = trim(after_exec);
    const auto digits = first.find_first_not_of("0123456789");
    return !first.empty() && digits != npos && std::string_view{"<>&"}.find(first[digits]) == npos;
}

/// How every word ends that read_line() looks for outside of a command that srun begins.  A script
/// has hundreds that do not, and slurmctld waits.
constexpr std::size_t tail_size = 3;
constexpr std::array<std::string_view, 7> tails{"run", "rap", "xec", "nch", "ate", "eed", "ray"};

constexpr bool has_tail(std::string_view word) {
    return std::any_of(tails.begin(), tails.end(),
                       [word](std::string_view tail) { return word.ends_with(tail); });
}
static_assert(has_tail("srun") && has_tail("trap") && has_tail("exec"));
static_assert(std::all_of(launchers.begin(), launchers.end(), &has_tail));

/// Bytes that are compared at once; GCC and Clang make vector instructions of it on all machines.
using Bytes [[gnu::vector_size(16)]] = signed char;
/// How many places are looked at together.
constexpr std::size_t together = 4 * sizeof(Bytes);

Bytes bytes_at(const char* at) {
    Bytes bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

/// Where a tail begins, by its three letters; each tail in instructions of its own.
template <std::size_t... Tail>
Bytes tails_at(Bytes first, Bytes second, Bytes third, std::index_sequence<Tail...> /*all*/) {
    return (((first == tails[Tail][0]) & (second == tails[Tail][1]) & (third == tails[Tail][2])) |
            ...);
}

/// Whether a tail begins at one of the `together` places from `at`; reads tail_size - 1 bytes more.
bool any_tail(const char* at) {
    Bytes any{};
    for (const auto* const end = at + together; at < end; at += sizeof(Bytes)) {
        any |= tails_at(bytes_at(at), bytes_at(at + 1), bytes_at(at + 2),
                        std::make_index_sequence<tails.size()>{});
    }
    std::array<std::uint64_t, sizeof(Bytes) / sizeof(std::uint64_t)> words{};
    std::memcpy(words.data(), &any, sizeof any);
    return (words[0] | words[1]) != 0;
}

/// Takes off the lines before the first that may have a word of these.
void skip_lines(std::string_view& text) {
    std::size_t at = 0;
    while (at + together + tail_size <= text.size() && !any_tail(text.data() + at)) {
        at += together;
    }
    const auto line_end = at == 0 ? npos : text.rfind('\n', at);
    text.remove_prefix(line_end == npos ? 0 : line_end + 1);
}

/// Reads one line; `in_step`: it belongs to a command that srun begins.
void read_line(std::string_view line, std::string_view signal, bool& in_step, BatchScript& script) {
    bool in_trap = false;
    for (auto rest = line; !rest.empty();) {
        const auto word = take_word(rest);
        if (word.starts_with('#') && std::string_view{" \t;"}.find(word.data()[-1]) != npos) {
            return;  // a comment; the line does not begin with one
        }
        if (in_trap && names_signal(word, signal)) {
            script.traps = true;
        }
        if (!in_step && !has_tail(word)) {
            continue;
        }
        const auto name = file_name(word);
        if (name == "srun") {
            script.starts_steps = in_step = true;
        } else if (word == "trap") {
            in_trap = true;
        } else if (word == "exec") {
            script.execs = script.execs || is_program(rest);
        } else if (is_one_of(name, launchers) ||
                   (in_step && (is_one_of(name, shells) || name.ends_with(".sh")))) {
            script.launcher = script.launcher.empty() ? name : script.launcher;
        }
    }
}

}  // namespace

bool BatchScript::is_told() const {
    return starts_steps && !launcher.empty();
}

bool BatchScript::catches() const {
    return !shell || traps || (execs && !starts_steps && launcher.empty());
}

BatchScript look_at_script(std::string_view text, std::string_view signal) {
    text = text.substr(0, most_script_read);
    BatchScript script;
    script.shell = is_shell(text.substr(0, text.find('\n')));
    if (!script.shell) {
        return script;
    }
    bool in_step = false;
    while (!text.empty() && !script.is_told()) {
        if (!in_step) {
            skip_lines(text);
        }
        const auto line = trim(take_line(text));
        if (line.starts_with('#')) {
            continue;
        }
        read_line(line, signal, in_step, script);
        in_step = in_step && line.ends_with('\\');
    }
    return script;
}

}  // namespace railhead::job
