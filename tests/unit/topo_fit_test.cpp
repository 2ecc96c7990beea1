#include "node/topo_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "node/from_nccl_xml.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::test::cpus;
using railhead::test::node_with;

namespace {

std::string misfits(const node::Node& file, const node::Node& machine) {
    return fmt::format("{}", fmt::join(node::find_misfits(file, machine), "; "));
}

}  // namespace

TEST_CASE("a topology file for another size of virtual machine is told", "[node][topo_fit]") {
    const auto small = node_with({{Path::pix, Path::sys}, {Path::sys, Path::pix}});
    const auto large = node_with({{Path::pix, Path::sys, Path::sys},
                                  {Path::sys, Path::pix, Path::sys},
                                  {Path::sys, Path::sys, Path::pix},
                                  {Path::sys, Path::sys, Path::pix}});
    CHECK(misfits(small, small).empty());
    CHECK(misfits(large, small) ==
          "2 GPUs of the file are not on this machine: 0000:03:00.0 and 1 more; "
          "1 NIC of the file is not on this machine: 0000:67:00.0");
    CHECK(misfits(small, large) ==
          "2 GPUs of this machine are not in the file: 0000:03:00.0 and 1 more");
}

TEST_CASE("CPUs of the file that are none of the GPU's are told", "[node][topo_fit]") {
    auto machine = node_with({{Path::pix}, {Path::pix}});
    auto file = machine;
    machine.gpus[0].cpus = cpus("0-23");
    machine.gpus[1].cpus = cpus("24-47");
    file.gpus[0].cpus = cpus("0-47");  // wider is no fault: a VM may not know better
    file.gpus[1].cpus = cpus("0-23");
    CHECK(misfits(file, machine) == "GPU 0000:02:00.0 is near CPUs 24-47, and the file says 0-23");
    file.gpus[1].cpus = {};
    CHECK(misfits(file, machine).empty());
}

TEST_CASE("what has no address fits everything", "[node][topo_fit]") {
    auto file = node_with({{Path::pix}});
    file.gpus[0].pci.reset();
    file.nics[0].pci.reset();
    CHECK(misfits(file, node::Node{}).empty());
}
