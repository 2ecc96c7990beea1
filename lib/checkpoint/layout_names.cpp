#include "checkpoint/layout_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/lower.hpp"
#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::string_view unfinished = "-unfinished";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

template <std::size_t Count>
bool has_any(std::string_view text, const std::array<std::string_view, Count>& words) {
    return std::ranges::any_of(
        words, [text](auto word) { return text.find(word) != std::string_view::npos; });
}

std::string_view without(std::string_view text, std::string_view end) {
    return text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text;
}

}  // namespace

std::optional<std::uint64_t> number_after(std::string_view name, std::string_view prefix) {
    const bool fits =
        name.starts_with(prefix) && name.size() > prefix.size() && is_digit(name[prefix.size()]);
    return fits ? parse_number<std::uint64_t>(name.substr(prefix.size())) : std::nullopt;
}

std::optional<std::string> megatron_folder(std::string_view tracker) {
    const auto word = trim(tracker);
    if (word == "release") {
        return "release";
    }
    const auto iteration = number_after(word, "");
    return iteration ? std::optional{fmt::format("iter_{:07}", *iteration)} : std::nullopt;
}

std::optional<std::string> deepspeed_folder(std::string_view tracker) {
    const auto word = trim(tracker);
    const bool is_name = !word.empty() && word != "." && word != ".." &&
                         std::ranges::none_of(word, [](unsigned char c) {
                             return c == '/' || c == '\0' || std::iscntrl(c) != 0;
                         });
    return is_name ? std::optional{std::string{word}} : std::nullopt;
}

std::optional<std::string> name_to_come(std::string_view name) {
    constexpr std::array<std::string_view, 6> ends{".tmp",        ".temp", ".partial",
                                                   ".incomplete", ".part", "_tmp"};
    constexpr std::string_view orbax = ".orbax-checkpoint-tmp";
    constexpr std::string_view staged = "tmp-checkpoint-";  // transformers 4.36 and 4.37
    for (const auto end : ends) {
        if (name.size() > end.size() && name.ends_with(end)) {
            return std::string{name.substr(0, name.size() - end.size())};
        }
    }
    if (const auto at = name.find(orbax); at != std::string_view::npos && at > 0) {
        return std::string{name.substr(0, at)};
    }
    if (name.starts_with(staged)) {
        return std::string{name.substr(std::string_view{"tmp-"}.size())};
    }
    return std::nullopt;
}

std::string nemo_marker(std::string_view name) {
    return std::string{without(without(without(name, ".nemo"), ".ckpt"), "-EMA")} +
           std::string{unfinished};
}

bool is_nemo_marker(std::string_view name) {
    return name.size() > unfinished.size() && name.ends_with(unfinished);
}

bool has_step_name(std::string_view name) {
    return name.find("step=") != std::string_view::npos ||
           without(without(name, ".ckpt"), ".nemo").ends_with("-last");
}

bool is_weights_file(std::string_view name) {
    constexpr std::array<std::string_view, 11> ends{".ckpt", ".pt",  ".pth",   ".tar",
                                                    ".pkl",  ".bin", ".npz",   ".safetensors",
                                                    ".nemo", ".h5",  ".distcp"};
    return std::ranges::any_of(ends, [name](auto end) { return name.ends_with(end); });
}

bool is_numbered(std::string_view name) {
    constexpr std::array<std::string_view, 7> words{"step", "iter",       "epoch", "ckpt",
                                                    "save", "checkpoint", "state"};
    const bool has_number = std::ranges::any_of(name, is_digit);
    return has_number && (std::ranges::all_of(name, is_digit) || has_any(lower(name), words));
}

bool is_copy_name(std::string_view name) {
    constexpr std::array<std::string_view, 3> words{"last", "best", "latest"};
    return has_any(lower(name), words);
}

Ending ending_of(std::string_view first, std::string_view last) {
    // PKWARE's APPNOTE.TXT, 4.3.7 and 4.3.16: the signatures of the first and the last record.
    constexpr std::string_view begin{"PK\x03\x04", 4};
    constexpr std::string_view end{"PK\x05\x06", 4};
    if (!first.starts_with(begin)) {
        return Ending::unknown;
    }
    return last.size() == ending_size && last.starts_with(end) ? Ending::whole : Ending::cut;
}

}  // namespace railhead::checkpoint
