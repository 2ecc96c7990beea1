// What does an Xid of the NVIDIA driver mean, and what is to be done?
//
// Source: NVIDIA, "Analyzing Xid Errors with the Xid Catalog",
// docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, read November 2026; for Ampere and
// newer GPUs.  Meanings are in our words.  Numbers that the catalogue calls unused are not in it.
#pragma once

#include <cstdint>
#include <string_view>

namespace railhead::diagnose {

/// What the catalogue wants done at once.
enum class XidAction : std::uint8_t {
    ignore,           ///< IGNORE
    restart_job,      ///< RESTART_APP
    reset_gpu,        ///< RESET_GPU
    reboot_node,      ///< RESTART_BM, RESTART_VM
    check_mechanics,  ///< CHECK_MECHANICALS
    update_software,  ///< UPDATE_SWFW
    nvlink_flow,      ///< WORKFLOW_NVLINK_ERR, WORKFLOW_NVLINK5_ERR
    follow_other,     ///< the Xid that came before it counts
    not_stated,
};

struct Xid {
    std::uint32_t number = 0;
    std::string_view meaning;
    XidAction action = XidAction::not_stated;
};

/// Null where the catalogue has no such Xid.
[[nodiscard]] const Xid* find_xid(std::uint64_t number);

/// What to do, in one line.
[[nodiscard]] std::string_view advice_of(XidAction action);

}  // namespace railhead::diagnose
