#include "node/verbs.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace railhead::node {

namespace {

struct FreeList {
    void operator()(ibv_device** list) const noexcept { ::ibv_free_device_list(list); }
};
struct Close {
    void operator()(ibv_context* context) const noexcept { ::ibv_close_device(context); }
};

std::string text_of(int error) {
    return std::generic_category().message(error);
}

/// Why the device cannot be used; empty: it can.
std::string complaint(ibv_device* device, unsigned number) {
    errno = 0;  // an old provider may leave it alone
    const std::unique_ptr<ibv_context, Close> context{::ibv_open_device(device)};
    if (context == nullptr) {
        return fmt::format("cannot be opened: {}", errno == 0 ? "no reason given" : text_of(errno));
    }
    ibv_device_attr attributes{};
    if (const int error = ::ibv_query_device(context.get(), &attributes); error != 0) {
        return fmt::format("does not answer: {}", text_of(error));
    }
    if (number > attributes.phys_port_cnt) {
        return fmt::format("has no port {}", number);
    }
    ibv_port_attr port{};
    const auto wanted = static_cast<std::uint8_t>(number);
    if (const int error = ibv_query_port(context.get(), wanted, &port); error != 0) {
        return fmt::format("does not answer about port {}: {}", number, text_of(error));
    }
    return {};
}

}  // namespace

std::vector<UnusableDevice> find_unusable_devices(const std::vector<PortName>& ports) {
    std::vector<UnusableDevice> unusable;
    int count = 0;
    const std::unique_ptr<ibv_device*, FreeList> list{::ibv_get_device_list(&count)};
    const int error = errno;
    const std::span devices{list.get(), list == nullptr ? 0 : static_cast<std::size_t>(count)};
    const auto find = [&](const std::string& nic) {
        return std::ranges::find_if(
            devices, [&nic](ibv_device* device) { return nic == ::ibv_get_device_name(device); });
    };
    const bool knows_one = std::ranges::any_of(
        ports, [&](const PortName& port) { return find(port.nic) != devices.end(); });
    if (list != nullptr && !knows_one && !ports.empty()) {
        return {{"", "libibverbs has no driver for the rails"}};
    }
    for (const auto& [nic, number] : ports) {
        const auto found = find(nic);
        auto why = list == nullptr          ? fmt::format("cannot be listed: {}", text_of(error))
                   : found == devices.end() ? std::string{"is not known to libibverbs"}
                                            : complaint(*found, number);
        if (!why.empty()) {
            unusable.push_back({nic, std::move(why)});
        }
    }
    return unusable;
}

}  // namespace railhead::node
