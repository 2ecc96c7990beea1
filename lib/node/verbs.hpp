// Whether RDMA devices can be used at all, asked through libibverbs.
//
// sysfs shows a port as active whose device no program can open: /dev/infiniband/uverbsN is not
// there, is forbidden, or the device no longer answers.  libibverbs loads a library for each kind
// of device, so this is a library of its own that the plugins do not load: it belongs into a
// process that may crash or hang.
#pragma once

#include <string>
#include <vector>

namespace railhead::node {

/// A port by its device's name: "mlx5_0", 1.
struct PortName {
    std::string nic;
    unsigned number = 1;
};

struct UnusableDevice {
    std::string nic;  ///< "": not one of them could be tried
    std::string why;  ///< "cannot be opened: Permission denied"
};

/// Opens the device of each of `ports`, asks it about itself and about the port, and closes it.
/// Gives those that do not let themselves be used, in the order of `ports`.
///
/// Where libibverbs knows none of them, it most likely lacks their drivers' libraries, which a
/// container brings along: that says nothing about the devices, and is one entry without a name.
[[nodiscard]] std::vector<UnusableDevice> find_unusable_devices(const std::vector<PortName>& ports);

}  // namespace railhead::node
