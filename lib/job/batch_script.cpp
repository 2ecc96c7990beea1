#include "job/batch_script.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

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

/// Takes the next word off `text`: what blanks and the shell's own signs leave between them.
std::string_view take_word(std::string_view& text) {
    constexpr std::string_view between = " \t;|&(){}\"'`<>=$,";
    const auto begin = std::min(text.find_first_not_of(between), text.size());
    text.remove_prefix(begin);
    const auto word = text.substr(0, text.find_first_of(between));
    text.remove_prefix(word.size());
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

/// Reads one line; `in_step`: it belongs to a command that srun begins.
void read_line(std::string_view line, std::string_view signal, bool& in_step, BatchScript& script) {
    bool in_trap = false;
    for (auto rest = line; !rest.empty();) {
        const auto word = take_word(rest);
        const auto name = file_name(word);
        if (word.starts_with('#') && std::string_view{" \t;"}.find(word.data()[-1]) != npos) {
            return;  // a comment; the line does not begin with one
        }
        if (name == "srun") {
            script.starts_steps = in_step = true;
        } else if (word == "trap") {
            in_trap = true;
        } else if (word == "exec") {
            script.execs = script.execs || is_program(rest);
        } else if (in_trap && names_signal(word, signal)) {
            script.traps = true;
        } else if (is_one_of(name, launchers) ||
                   (in_step && (is_one_of(name, shells) || name.ends_with(".sh")))) {
            script.launcher = script.launcher.empty() ? name : script.launcher;
        }
    }
}

}  // namespace

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
    while (!text.empty()) {
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
