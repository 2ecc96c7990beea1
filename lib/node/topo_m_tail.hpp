// What stands right of the devices in a row of `nvidia-smi topo -m`: CPU and NUMA affinity.
//
// These cells may be empty, and nothing but their place tells which one is.  Within one text full
// rows show where each column's cells stand, between tabs or by offset; the column names above
// show it only where the paste kept them in place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "node/topo_m_table.hpp"
#include "node/topo_m_text.hpp"

namespace railhead::node {

enum class TopoColumn : std::uint8_t { cpu, numa, gpu_numa };

/// The columns right of the devices and the offset of each.
struct TopoColumns {
    std::vector<TopoColumn> columns;
    std::vector<std::size_t> offsets;
};

/// "CPU Affinity  NUMA Affinity  GPU NUMA ID", or the first of them; the last may be cut short.
/// Nothing when other words stand there.
[[nodiscard]] std::optional<TopoColumns> parse_topo_columns(const std::vector<TopoWord>& words);

/// The words right of a row's devices, and a place for each: which field between tabs, or where
/// there are no tabs, which offset.
struct TopoTail {
    std::vector<TopoWord> words;
    std::vector<std::size_t> places;
    bool tabs = false;
};
[[nodiscard]] TopoTail parse_topo_tail(std::string_view line, std::size_t begin);

/// Fills `cpu`, `numa`, `gpu_numa` and `readable` of each row from the tail of the same position.
void place_tails(std::vector<TopoRow>& rows, const std::vector<TopoTail>& tails,
                 const TopoColumns& columns);

}  // namespace railhead::node
