#include "diagnose/evidence.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::diagnose {
namespace {

/// `text` without sequences as "ESC [ 31 m".
std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\x1b') {
            plain += text[at];
            continue;
        }
        if (at + 1 < text.size() && text[at + 1] == '[') {
            ++at;
            while (at + 1 < text.size() && !(text[at + 1] >= '@' && text[at + 1] <= '~')) {
                ++at;
            }
            ++at;  // the letter that ends it
        }
    }
    return plain;
}

/// How many of the first `limit` bytes hold whole characters of UTF-8.
std::size_t whole_characters(std::string_view text, std::size_t limit) {
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
        --limit;
    }
    return limit;
}

}  // namespace

std::uint32_t Sources::add(std::string_view name) {
    // Files are added once each, and mostly new: the last one is the one that is asked for again.
    const auto found = std::find(names_.rbegin(), names_.rend(), name);
    if (found != names_.rend()) {
        return static_cast<std::uint32_t>(names_.rend() - found - 1);
    }
    names_.emplace_back(name);
    return size() - 1;
}

Evidence make_evidence(std::uint32_t file, std::uint64_t line, std::string_view text) {
    // Only what may be shown is looked at, however long the line is.
    const auto looked_at = text.substr(0, 4 * evidence_limit);
    std::string plain = printable(trim(without_escapes(looked_at)));
    const bool is_cut = plain.size() > evidence_limit || looked_at.size() < text.size();
    if (plain.size() > evidence_limit) {
        plain.resize(whole_characters(plain, evidence_limit));
    }
    if (is_cut) {
        plain += "…";
    }
    return {file, line, std::move(plain)};
}

std::string place_of(const Sources& sources, const Evidence& evidence) {
    const std::string& name = sources.name(evidence.file);
    return evidence.line == 0 ? name : fmt::format("{}:{}", name, evidence.line);
}

}  // namespace railhead::diagnose
