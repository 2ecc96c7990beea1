// A Node that may be shown to strangers: for bug reports and for fixtures of tests.
#pragma once

#include <string>
#include <vector>

#include "node/node.hpp"

namespace railhead::node {

struct NeutralNode {
    Node node;
    std::vector<std::string> left_out;  ///< "UUIDs of 8 GPUs", for people; only what was there
};

/// The Node without what tells one machine from another of its type:
///
///  - UUIDs of GPUs become placeholders of the same form, numbered in the order of the GPUs;
///  - in names of interfaces and devices, and in warnings, runs of ten and more hexadecimal digits,
///    which are MAC addresses and GUIDs ("enx…", "rocex…_p1"), become numbers of the same length;
///  - the names of `hosts` in them ("gpu001-ib1") become "host";
///  - where the Node was read from, and lines of that file, go.
///
/// A Node holds no serial number or IP address.  PCI addresses, names like "ib0" and the CPUs that
/// this process may use stay: they are what a report is about.
[[nodiscard]] NeutralNode make_neutral(Node node, const std::vector<std::string>& hosts);

/// What is kept in a file: to_wire(), with comments that say what was left out.
[[nodiscard]] std::string capture_text(const NeutralNode& neutral);

}  // namespace railhead::node
