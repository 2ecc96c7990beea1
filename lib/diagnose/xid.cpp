#include "diagnose/xid.hpp"

#include <algorithm>
#include <array>

namespace railhead::diagnose {

namespace {

/// In the order of their numbers.  Actions are the catalogue's column "Immediate Action" of October
/// 2025; those that it leaves to a flow of steps (45, 48, 74, 144 to 150, 154) are told apart by
/// what the flow begins with.
constexpr std::array xids{
    Xid{8, "GPU stopped processing", XidAction::restart_job},
    Xid{11, "invalid or corrupted push buffer stream", XidAction::restart_job},
    Xid{13,
        "exception of the compute engine: most often an access out of bounds of the application",
        XidAction::restart_job},
    Xid{25, "invalid or illegal push buffer stream", XidAction::restart_job},
    Xid{31, "page fault of GPU memory: most often an illegal address of the application",
        XidAction::restart_job},
    Xid{32, "invalid or corrupted push buffer stream", XidAction::restart_job},
    Xid{37, "driver firmware error", XidAction::ignore},
    Xid{38, "driver firmware error", XidAction::ignore},
    Xid{39, "exception of a copy engine", XidAction::restart_job},
    Xid{40, "exception of a copy engine", XidAction::restart_job},
    Xid{41, "exception of a copy engine", XidAction::restart_job},
    Xid{43, "GPU stopped processing for one application", XidAction::ignore},
    Xid{44, "engine fault during a context switch", XidAction::ignore},
    Xid{45, "channels were cleared away after an earlier error or an abort",
        XidAction::follow_other},
    Xid{46, "GPU stopped processing", XidAction::reset_gpu},
    Xid{48, "double-bit ECC error: memory that cannot be corrected", XidAction::reset_gpu},
    Xid{54, "auxiliary power is not connected to the GPU board", XidAction::check_mechanics},
    Xid{60, "exception of the video processor", XidAction::restart_job},
    Xid{62, "internal micro-controller halt", XidAction::reset_gpu},
    Xid{63, "a row of GPU memory was marked for remapping", XidAction::ignore},
    Xid{64, "a row of GPU memory could not be remapped", XidAction::reset_gpu},
    Xid{66, "illegal access by the driver", XidAction::ignore},
    Xid{67, "illegal access by the driver", XidAction::ignore},
    Xid{68, "exception of the video decoder", XidAction::restart_job},
    Xid{69, "class error of the compute engine", XidAction::restart_job},
    Xid{74, "NVLink error", XidAction::nvlink_flow},
    Xid{78, "vGPU could not start", XidAction::update_software},
    Xid{79, "GPU has fallen off the bus", XidAction::reboot_node},
    Xid{80, "corrupted data was sent to the GPU", XidAction::restart_job},
    Xid{92, "high rate of single-bit ECC errors", XidAction::ignore},
    Xid{93, "wear limit of the InfoROM was passed", XidAction::ignore},
    Xid{94, "contained memory error: one application is hit", XidAction::restart_job},
    Xid{95, "uncontained memory error: all applications of the GPU are hit", XidAction::reset_gpu},
    Xid{109, "context switch timed out", XidAction::reset_gpu},
    Xid{110, "security fault", XidAction::reset_gpu},
    Xid{119, "the GPU's system processor (GSP) did not answer", XidAction::reset_gpu},
    Xid{120, "error of the GPU's system processor (GSP)", XidAction::reset_gpu},
    Xid{121, "error of the link between chips (C2C)", XidAction::ignore},
    Xid{136, "NVLink training failed", XidAction::reset_gpu},
    Xid{137, "NVLink privilege error: most often a fault of the peer", XidAction::ignore},
    Xid{140, "ECC error that was not recovered", XidAction::reset_gpu},
    Xid{141, "fast path error of CUDA", XidAction::ignore},
    Xid{143, "GPU could not be initialized", XidAction::reset_gpu},
    Xid{144, "NVLink error (SAW)", XidAction::nvlink_flow},
    Xid{145, "NVLink error (RLW)", XidAction::nvlink_flow},
    Xid{146, "NVLink error (TLW)", XidAction::nvlink_flow},
    Xid{147, "NVLink error (TREX)", XidAction::nvlink_flow},
    Xid{148, "NVLink error (NVLPW_CTRL)", XidAction::nvlink_flow},
    Xid{149, "NVLink error (NETIR)", XidAction::nvlink_flow},
    Xid{150, "NVLink error (MSE)", XidAction::nvlink_flow},
    Xid{151, "key rotation error", XidAction::reboot_node},
    Xid{154, "the driver changed which recovery it recommends", XidAction::follow_other},
    Xid{155, "NVLink error defined by software", XidAction::reset_gpu},
    Xid{156, "a resource of the GPU was retired", XidAction::reset_gpu},
    Xid{157, "a resource of the GPU could not be retired", XidAction::ignore},
    Xid{158, "fatal timeout of the GPU", XidAction::reset_gpu},
    Xid{160, "a channel was retired", XidAction::ignore},
    Xid{161, "a channel could not be retired", XidAction::ignore},
    Xid{167, "fatal timeout of PCIe", XidAction::not_stated},
    Xid{168, "less GPU memory than there should be", XidAction::not_stated},
    Xid{169, "internal micro-controller halt", XidAction::not_stated},
    Xid{171, "uncorrectable error in DRAM, beside Xid 48", XidAction::not_stated},
    Xid{172, "uncorrectable error in SRAM, beside Xid 48", XidAction::not_stated},
};

}  // namespace

const Xid* find_xid(std::uint64_t number) {
    const auto* found = std::ranges::lower_bound(xids, number, {}, &Xid::number);
    return found != xids.end() && found->number == number ? &*found : nullptr;
}

std::string_view advice_of(XidAction action) {
    switch (action) {
        case XidAction::ignore:
            return "nothing at once; tell support when it comes again";
        case XidAction::restart_job:
            return "start the job again; when it comes again with other jobs, drain the node";
        case XidAction::reset_gpu:
            return "drain the node and reset the GPU: nvidia-smi -r -i GPU";
        case XidAction::reboot_node:
            return "drain and reboot the node; when it comes again, have it repaired";
        case XidAction::check_mechanics:
            return "drain the node and check the power cables of the GPU";
        case XidAction::update_software:
            return "update the driver and the firmware";
        case XidAction::nvlink_flow:
            return "drain the node, reset all GPUs of the NVLink fabric, then dcgmi diag -r 3";
        case XidAction::follow_other:
            return "see the other Xids of the GPU: it follows one of them";
        case XidAction::not_stated:
            break;
    }
    return "the catalogue states none; dcgmi diag -r 3 on the drained node tells more";
}

}  // namespace railhead::diagnose
