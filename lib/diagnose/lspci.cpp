#include "diagnose/lspci.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/// "3a:00.0 " or "0000:3a:00.0 " at the start of a line.
std::optional<std::string_view> address_of(std::string_view line) {
    const auto word = line.substr(0, line.find(' '));
    const auto dot = word.rfind('.');
    const bool shaped = (word.size() == 7 || word.size() == 12) && dot == word.size() - 2 &&
                        word[dot - 3] == ':' && line.size() > word.size();
    const bool digits =
        std::ranges::all_of(word, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
    return shaped && digits ? std::optional{word} : std::nullopt;
}

bool has_flag(std::string_view flags, std::string_view name) {
    const auto at = flags.find(name);
    const auto sign = at + name.size();
    return at != std::string_view::npos && sign < flags.size() && flags[sign] == '+';
}

}  // namespace

void LspciReader::read_line(std::string_view line) {
    // An address is no label: "3a:00.0" has no ": ".
    const auto label = take_label(line, "ACSCtl");
    if (const auto address = address_of(line)) {
        address_ = *address;
        device_ = printable(trim(line.substr(address->size())).substr(0, evidence_limit));
        return;
    }
    if (const auto at = line.find("ACSCtl:"); at != std::string_view::npos) {
        read_acs(label, line.substr(at + 7));
    } else if (const auto link = line.find("LnkSta:"); link != std::string_view::npos) {
        read_link(label, line.substr(link + 7));
    }
}

void LspciReader::read_acs(std::string_view label, std::string_view flags) {
    if (state_.acs.size() == most) {
        ++state_.left_out;
        return;
    }
    state_.acs.push_back({std::string{label}, address_, device_, has_flag(flags, "SrcValid"),
                          has_flag(flags, "ReqRedir"), has_flag(flags, "CmpltRedir"),
                          has_flag(flags, "UpstreamFwd"), evidence()});
}

/// "Speed 8GT/s (downgraded), Width x8 (downgraded)"; without "(downgraded)" where all is well.
void LspciReader::read_link(std::string_view label, std::string_view text) {
    const auto width = text.find("Width ");
    const auto speed_part = text.substr(0, width);
    const auto width_part =
        width == std::string_view::npos ? std::string_view{} : text.substr(width);
    const bool slower = speed_part.find("(downgraded)") != std::string_view::npos;
    const bool narrower = width_part.find("(downgraded)") != std::string_view::npos;
    if (!slower && !narrower) {
        return;
    }
    if (state_.slow_links.size() == most) {
        ++state_.left_out;
        return;
    }
    state_.slow_links.push_back(
        {std::string{label}, address_, device_, std::string{word_after(text, "Speed ", ", ")},
         std::string{word_after(text, "Width ", ", ")}, slower, narrower, evidence()});
}

}  // namespace railhead::diagnose
