// A miniature /sys and /proc for a test, gone with it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/node.hpp"
#include "support/temp_dir.hpp"

namespace railhead::test {

class SysfsTree {
 public:
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(
            std::filesystem::path{folder_.path(path)}.parent_path());
        folder_.write(path, text);
    }
    void link(const std::string& path, const std::string& target) const {
        const std::filesystem::path full{folder_.path(path)};
        std::filesystem::create_directories(full.parent_path());
        std::filesystem::create_symlink(target, full);
    }
    void remove(const std::string& path) const { std::filesystem::remove_all(folder_.path(path)); }
    [[nodiscard]] std::string root() const { return folder_.path(); }

    /// One file of a NIC's port 1: "state", "gids/3".
    void write_port(const std::string& nic, const std::string& file,
                    const std::string& text) const {
        write(fmt::format("sys/class/infiniband/{}/ports/1/{}", nic, file), text + "\n");
    }
    /// One file of a NIC's PCI device: "current_link_width".
    void write_device(const std::string& nic, const std::string& file,
                      const std::string& text) const {
        write(fmt::format("sys/class/infiniband/{}/device/{}", nic, file), text + "\n");
    }

    /// A port of this layer as it should be: 400 Gb/s, sixteen lanes of PCIe 5, an address.
    void add_port(const std::string& nic,
                  node::LinkLayer layer = node::LinkLayer::infiniband) const {
        const bool ethernet = layer == node::LinkLayer::ethernet;
        write_port(nic, "state", "4: ACTIVE");
        write_port(nic, "phys_state", "5: LinkUp");
        write_port(nic, "link_layer", ethernet ? "Ethernet" : "InfiniBand");
        write_port(nic, "rate", "400 Gb/sec (4X NDR)");
        write_port(nic, "lid", ethernet ? "0x0" : "0x1a");
        write_device(nic, "current_link_speed", "32.0 GT/s PCIe");
        write_device(nic, "current_link_width", "16");
        if (ethernet) {
            add_addresses(nic);
        }
    }

    /// The first ports of these RDMA devices.
    void add_ports(const std::vector<node::Nic>& nics) const {
        for (const auto& nic : nics) {
            add_port(nic.name, nic.link_layer);
        }
    }

 private:
    /// As mlx5 fills its table: each address once for RoCE v1 and once for v2, then zeros.
    void add_addresses(const std::string& nic) const {
        const std::string local = "fe80:0000:0000:0000:0e42:a1ff:fe5b:0001";
        const std::string address = "0000:0000:0000:0000:0000:ffff:0a00:0001";
        const std::vector<std::pair<std::string, std::string>> table{{local, "IB/RoCE v1"},
                                                                     {local, "RoCE v2"},
                                                                     {address, "IB/RoCE v1"},
                                                                     {address, "RoCE v2"}};
        for (std::size_t i = 0; i < table.size(); ++i) {
            write_port(nic, fmt::format("gids/{}", i), table[i].first);
            write_port(nic, fmt::format("gid_attrs/types/{}", i), table[i].second);
        }
        write_port(nic, "gids/4", "0000:0000:0000:0000:0000:0000:0000:0000");
    }

    TempDir folder_;
};

}  // namespace railhead::test
