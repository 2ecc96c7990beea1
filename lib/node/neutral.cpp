#include "node/neutral.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

/// "GPU-00000000-0000-0000-0000-000000000003"; AMD's are sixteen digits alone.
std::string placeholder(const std::string& uuid, std::size_t number) {
    return uuid.starts_with("GPU-") ? fmt::format("GPU-00000000-0000-0000-0000-{:012}", number)
                                    : fmt::format("{:016}", number);
}

std::size_t replace_uuids(Node& node) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        auto& uuid = node.gpus[i].uuid;
        if (!uuid.empty()) {
            uuid = placeholder(uuid, i);
            ++count;
        }
    }
    return count;
}

bool is_hex(char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

/// Where `word` stands in `text` from `from` on, whatever the case.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
    for (auto at = from; at + word.size() <= text.size(); ++at) {
        if (equals_ignoring_case(text.substr(at, word.size()), word)) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// Replaces what tells a machine from others in names and in texts that quote them.
class Names {
 public:
    explicit Names(const std::vector<std::string>& hosts) {
        constexpr std::size_t shortest = 3;  // "ib" is in many names
        for (const auto& host : hosts) {
            if (host.size() >= shortest && host != placeholder_host) {
                hosts_.push_back(host);
            }
        }
        std::ranges::sort(hosts_, std::greater{}, &std::string::size);
    }

    void replace(std::string& text) {
        replace_addresses(text);
        replace_hosts(text);
    }
    [[nodiscard]] std::size_t addresses() const { return seen_.size(); }
    [[nodiscard]] bool had_host() const { return had_host_; }

 private:
    static constexpr std::string_view placeholder_host = "host";

    /// MAC addresses (12 digits), GUIDs (16) and what is left of them where a name is too short for
    /// all: a number of the same length, the same one for the same digits.
    void replace_addresses(std::string& text) {
        constexpr std::ptrdiff_t shortest = 10;
        for (auto at = text.begin(); at != text.end();) {
            const auto end = std::find_if_not(at, text.end(), is_hex);
            if (end - at >= shortest) {
                const std::string digits{at, end};
                auto found = std::ranges::find(seen_, digits);
                if (found == seen_.end()) {
                    found = seen_.insert(seen_.end(), digits);
                }
                std::ranges::copy(fmt::format("{:0{}}", found - seen_.begin(), digits.size()), at);
            }
            at = end == text.end() ? end : end + 1;
        }
    }

    void replace_hosts(std::string& text) {
        for (const auto& host : hosts_) {
            for (auto at = find_word(text, host, 0); at != std::string::npos;
                 at = find_word(text, host, at + placeholder_host.size())) {
                text.replace(at, host.size(), placeholder_host);
                had_host_ = true;
            }
        }
    }

    std::vector<std::string> hosts_;
    std::vector<std::string> seen_;
    bool had_host_ = false;
};

void replace_names(Node& node, Names& names) {
    for (auto& nic : node.nics) {
        names.replace(nic.name);
        names.replace(nic.bond);
        for (auto& netdev : nic.netdevs) {
            names.replace(netdev);
        }
    }
    for (auto& warning : node.warnings) {
        names.replace(warning.message);
    }
    names.replace(node.incomplete);
}

}  // namespace

NeutralNode make_neutral(Node node, const std::vector<std::string>& hosts) {
    constexpr std::string_view neutral_source = "recorded";
    NeutralNode neutral;
    const bool had_file = node.source != "live" && node.source != neutral_source;
    node.source = neutral_source;
    for (auto& warning : node.warnings) {
        warning.where = {};
    }
    if (const auto count = replace_uuids(node); count > 0) {
        neutral.left_out.push_back(
            fmt::format("UUIDs of {} (placeholders)", count_of(count, "GPU")));
    }
    Names names{hosts};
    replace_names(node, names);
    if (const auto count = names.addresses(); count > 0) {
        neutral.left_out.push_back(
            fmt::format("{} in names (placeholders)", count_of(count, "address")));
    }
    if (names.had_host()) {
        neutral.left_out.emplace_back("the host's name in names (placeholder)");
    }
    if (had_file) {
        neutral.left_out.emplace_back("the name of the file that it was read from");
    }
    neutral.node = std::move(node);
    return neutral;
}

std::string capture_text(const NeutralNode& neutral) {
    const auto wire = to_wire(neutral.node);
    const auto first = wire.find('\n') + 1;
    auto text = wire.substr(0, first);
    for (const auto& what : neutral.left_out) {
        text += fmt::format("# left out: {}\n", what);
    }
    return text + wire.substr(first);
}

}  // namespace railhead::node
