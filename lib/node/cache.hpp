// The facts about a node, kept in a file from boot to boot's end, so that a step need not look.
//
// hwloc takes a tenth of a second on a large machine, and nothing that it finds changes while the
// machine is up.  The file is a capture (wire.hpp) with one more line, the key: all that the facts
// depend on.  A file with another key is as good as none, so nothing ever has to remove one.
//
// What may differ between two steps is not in it: port states, rates of ports that were down and
// UUIDs that the driver did not tell yet are looked up afresh (add_sysfs()), and `Node::allowed`,
// the CPUs of whoever looked, is empty.
#pragma once

#include <sys/types.h>

#include <string>

#include "node/node.hpp"

namespace railhead::node {

struct CacheOptions {
    std::string folder;      ///< where the file is, as TrustedFolder wants it
    std::string topology{};  ///< the facts come from this file; empty: from this machine
    std::string version{};   ///< of who looks: another one may see more
    std::string root = "/";  ///< below it lie the machine's sys and proc
    uid_t owner = 0;         ///< who may have written the file, beside root
};

/// The name of the file in its folder: "live.node" of this machine, else by `topology`.
[[nodiscard]] std::string cache_name(const CacheOptions& options);

/// The key as it is now, one line: version, boot, PCI and RDMA devices, CPUs that are online,
/// and which `topology` file it is.
/// Fails with `unavailable` where the kernel does not tell which boot this is.
[[nodiscard]] Result<std::string> make_cache_key(const CacheOptions& options);

/// The Node in the file, brought up to date.
/// Fails as TrustedFolder and from_wire(), and with `not_found` where the key is another.
[[nodiscard]] Result<Node> read_cache(const CacheOptions& options, const std::string& key);

/// Keeps the Node, and makes the folder for it.
/// Fails as TrustedFolder::make() and write(), and with `unsupported` where it is too large.
[[nodiscard]] Result<void> write_cache(const CacheOptions& options, const std::string& key,
                                       const Node& node);

}  // namespace railhead::node
