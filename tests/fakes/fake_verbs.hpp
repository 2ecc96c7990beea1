// The part of libibverbs that we call, with devices as a test wants them.
#pragma once

#include <string>
#include <vector>

namespace fake_verbs {

struct Device {
    std::string name;
    int open_error = 0;    ///< errno of ibv_open_device()
    int device_error = 0;  ///< what ibv_query_device() returns
    int port_error = 0;    ///< what ibv_query_port() returns
    int ports = 1;
};

/// The machine's devices from now on; `list_error` is the errno of ibv_get_device_list().
void set_devices(const std::vector<Device>& devices, int list_error = 0);

/// How many devices are open, and lists not freed.
int held();

}  // namespace fake_verbs
