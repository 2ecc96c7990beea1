#include "diagnose/kernel_links.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

/// The last word of `text`, without a colon.
std::string_view last_word(std::string_view text) {
    text = trim(text);
    while (text.ends_with(':') || text.ends_with(',')) {
        text.remove_suffix(1);
    }
    return text.substr(text.find_last_of(" \t") + 1);  // npos + 1 is 0
}

/// Where `part` stands in `text`, in small or capital letters.
std::size_t find_ignoring_case(std::string_view text, std::string_view part) {
    for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
        if (equals_ignoring_case(text.substr(at, part.size()), part)) {
            return at;
        }
    }
    return std::string_view::npos;
}

struct LinkWords {
    std::string_view text;
    KernelEventKind kind;
};
/// What follows "link ", in small or capital letters.
constexpr std::array link_words{
    LinkWords{"status definitely down for interface", KernelEventKind::link_down},
    LinkWords{"status definitely up for interface", KernelEventKind::link_up},
    LinkWords{"is down", KernelEventKind::link_down},
    LinkWords{"is up", KernelEventKind::link_up},
    LinkWords{"down", KernelEventKind::link_down},
    LinkWords{"up", KernelEventKind::link_up},
    LinkWords{"active", KernelEventKind::link_up},
};

/// Where "link down" and its like begins, and what it says.
struct LinkSaid {
    std::size_t at = 0;
    const LinkWords* words = nullptr;
};
std::optional<LinkSaid> find_link(std::string_view text) {
    for (auto at = text.find("ink "); at != std::string_view::npos;
         at = text.find("ink ", at + 1)) {
        const auto rest = text.substr(at + 4);
        const auto* words = std::ranges::find_if(link_words, [&](const LinkWords& w) {
            const bool ends = rest.size() <= w.text.size() || rest[w.text.size()] == ' ' ||
                              rest[w.text.size()] == ',';
            return ends && equals_ignoring_case(rest.substr(0, w.text.size()), w.text);
        });
        if (words != link_words.end() && at > 0 && (text[at - 1] == 'l' || text[at - 1] == 'L')) {
            return LinkSaid{at - 1, words};
        }
    }
    return std::nullopt;
}

/// Whose link it is: the word before "NIC Link", "Port: 1 Link" or "Link".
std::string_view link_device(std::string_view before) {
    before = trim(before);
    if (before.ends_with("NIC")) {
        before.remove_suffix(3);
    } else if (const auto port = find_ignoring_case(before, " port");
               port != std::string_view::npos) {
        before = before.substr(0, port);
    }
    return last_word(before);
}

}  // namespace

std::optional<LinkEvent> find_link_event(std::string_view message) {
    const auto said = find_link(message);
    // Disks and USB say alike.
    if (!said || message.find("SATA") != std::string_view::npos ||
        message.find("usb ") != std::string_view::npos) {
        return std::nullopt;
    }
    const auto& words = *said->words;
    const auto rest = message.substr(std::min(message.size(), said->at + 5 + words.text.size()));
    const auto device = words.text.ends_with("interface")
                            ? word_after(rest, " ", " ,")
                            : link_device(message.substr(0, said->at));
    return device.empty() ? std::nullopt : std::optional{LinkEvent{words.kind, device}};
}

}  // namespace railhead::diagnose
