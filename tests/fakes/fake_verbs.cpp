#include "fakes/fake_verbs.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>

#undef ibv_query_port  // a macro that ends at the function of this name

namespace {

struct Known {
    fake_verbs::Device device;
    ibv_device handle{};
    ibv_context context{};
};

std::deque<Known> known;  // handles stay where they are
int list_error = 0;
int open_now = 0;
int lists_now = 0;

Known& owner_of(const ibv_device* device) {
    return *std::ranges::find_if(known,
                                 [device](const Known& one) { return &one.handle == device; });
}

}  // namespace

namespace fake_verbs {

void set_devices(const std::vector<Device>& devices, int error) {
    known.clear();
    list_error = error;
    for (const auto& device : devices) {
        auto& one = known.emplace_back();
        one.device = device;
        one.context.device = &one.handle;
    }
}

int held() {
    return open_now + lists_now;
}

}  // namespace fake_verbs

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
    if (list_error != 0) {
        errno = list_error;
        return nullptr;
    }
    ++lists_now;
    auto** list = new ibv_device* [known.size() + 1] {};
    std::ranges::transform(known, list, [](Known& one) { return &one.handle; });
    *count = static_cast<int>(known.size());
    return list;
}

void ibv_free_device_list(ibv_device** list) {
    --lists_now;
    delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
    return owner_of(device).device.name.c_str();
}

ibv_context* ibv_open_device(ibv_device* device) {
    auto& one = owner_of(device);
    if (one.device.open_error != 0) {
        errno = one.device.open_error;
        return nullptr;
    }
    ++open_now;
    return &one.context;
}

int ibv_close_device(ibv_context* /*context*/) {
    --open_now;
    return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
    const auto& device = owner_of(context->device).device;
    attributes->phys_port_cnt = static_cast<std::uint8_t>(device.ports);
    return device.device_error;
}

int ibv_query_port(ibv_context* context, std::uint8_t /*port*/,
                   _compat_ibv_port_attr* /*attributes*/) {
    return owner_of(context->device).device.port_error;
}
}
