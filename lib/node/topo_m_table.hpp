// The text of `nvidia-smi topo -m` as a table of cells: columns, rows, legend.
//
// People paste it: with colours, prompts and prose around it, with tabs or blanks, narrowed, cut on
// the right or below, two cells glued together.  A cell is read only where it is certain: every
// device row must have a cell for every device column, and "X" exactly where row and column meet.
// What the cells mean is the business of from_topo_m.hpp.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/node.hpp"

namespace railhead::node {

/// One meeting of a row and a column: "X", "PIX" or "NV18".
struct TopoCell {
    bool self = false;     ///< X
    unsigned nvlinks = 0;  ///< 18 of NV18, which hides the path; else 0
    Path path = Path::sys;
};

/// A cell right of the devices: its text, "" when empty, and where it stands.
struct TopoText {
    std::string text;
    unsigned column = 0;  ///< 1-based
};

struct TopoRow {
    std::string name;             ///< "GPU0", "NIC3", "mlx5_4"
    unsigned line = 0;            ///< 1-based
    std::vector<TopoCell> cells;  ///< one for each of TopoTable::devices
    TopoText cpu, numa, gpu_numa;
    bool readable = true;  ///< false: what stands right of the devices has no certain column
};

struct TopoTable {
    std::vector<std::string> devices;           ///< the columns: GPU0, GPU1, …, then NICs
    std::size_t gpus = 0;                       ///< how many of them are GPUs
    unsigned line = 0;                          ///< of the column names, 1-based
    std::vector<TopoRow> rows;                  ///< of devices, in order; no two of one name
    std::map<std::string, std::string> legend;  ///< "NIC0" -> "mlx5_0"
    unsigned second = 0;  ///< the line where another matrix begins, which is not read; else 0

    [[nodiscard]] const TopoRow* find_row(std::string_view name) const;
};

/// "GPU3" is 3; nothing for any other word.
[[nodiscard]] std::optional<unsigned> topo_gpu(std::string_view name);

/// `source` names the text in errors.
///
/// Fails with `bad_input` when there is no line of column names, a column stands out of turn, or a
/// row does not fit the columns; the message says what to do.
[[nodiscard]] Result<TopoTable> parse_topo_table(std::string_view text, const std::string& source);

}  // namespace railhead::node
