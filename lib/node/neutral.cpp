#include "node/neutral.hpp"

#include <algorithm>
#include <cctype>
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

/// How many characters at the end of a name are the digits of a MAC address (12) or GUID (16), as
/// systemd and rdma_rename write them behind "x" ("enx0123456789ab"); 0 for any other name.
std::size_t address_length(std::string_view name) {
    const auto x = name.rfind('x');
    if (x == std::string_view::npos) {
        return 0;
    }
    const auto digits = name.substr(x + 1);
    const bool hexadecimal = std::ranges::all_of(
        digits, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
    return hexadecimal && (digits.size() == 12 || digits.size() == 16) ? digits.size() : 0;
}

/// Gives each name that holds an address a number instead, the same for the same name.
class Names {
 public:
    void replace(std::string& name) {
        const auto length = address_length(name);
        if (length == 0) {
            return;
        }
        auto found = std::ranges::find(seen_, name);
        if (found == seen_.end()) {
            found = seen_.insert(seen_.end(), name);
        }
        name.resize(name.size() - length);
        name += fmt::format("{:0{}}", found - seen_.begin(), length);
    }
    [[nodiscard]] std::size_t count() const { return seen_.size(); }

 private:
    std::vector<std::string> seen_;
};

std::size_t replace_names(Node& node) {
    Names names;
    for (auto& nic : node.nics) {
        names.replace(nic.name);
        names.replace(nic.bond);
        for (auto& netdev : nic.netdevs) {
            names.replace(netdev);
        }
    }
    return names.count();
}

}  // namespace

NeutralNode make_neutral(Node node) {
    NeutralNode neutral;
    node.source = "recorded";
    for (auto& warning : node.warnings) {
        warning.where = {};
    }
    if (const auto count = replace_uuids(node); count > 0) {
        neutral.left_out.push_back(
            fmt::format("UUIDs of {} (placeholders)", count_of(count, "GPU")));
    }
    if (const auto count = replace_names(node); count > 0) {
        neutral.left_out.push_back(
            fmt::format("addresses in {} (placeholders)", count_of(count, "name")));
    }
    neutral.left_out.emplace_back("serial numbers, MAC and IP addresses, GUIDs, the host's name");
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
