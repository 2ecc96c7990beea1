// What hwloc knows about a node, as a Node.  The only user of hwloc, with hwloc_cpus and hwloc_devices.
//
// hwloc is told to stay small: no GPU back-end (they start threads and load vendor libraries), no
// cpuid (it moves the process from CPU to CPU), no caches, the Linux kernel's view of PCI only.
// Disallowed CPUs are kept, so that what is near what does not depend on the cgroup we run in.
//
// The functions read HWLOC_* from the environment as every hwloc program does.  In a daemon call
// them through probe.hpp, which gives hwloc a clean environment, a process of its own and a time
// limit; the functions here are what runs inside.
#pragma once

#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// The machine we run on.
/// Fails with `unavailable` when hwloc cannot discover it.
[[nodiscard]] Result<Node> read_hwloc();

/// hwloc's XML, format 1 or 2; `source` names it in the Node and in errors.
///
/// Three pieces of information that hwloc does not write are read from OpenFabrics devices when a
/// recording has them, in sysfs's own words: Port1Rate ("400 Gb/sec (4X NDR)") and Port1LinkLayer
/// ("InfiniBand"), beside hwloc's Port1State.
/// Fails with `unsupported` for format 3 and later, with `bad_input` for anything else that hwloc
/// does not accept.
[[nodiscard]] Result<Node> parse_hwloc_xml(std::string_view xml, std::string source);

/// The environment, as NAME=VALUE, in which hwloc opens no plugin of the machine, prints nothing
/// and keeps the memory of NVIDIA GPUs as NUMA nodes.
[[nodiscard]] const char* const* hwloc_environment() noexcept;

}  // namespace railhead::node
