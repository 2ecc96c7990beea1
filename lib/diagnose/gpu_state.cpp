#include "diagnose/gpu_state.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

struct ReasonName {
    std::string_view key;
    ClockReason reason;
};
constexpr std::array reason_names{
    ReasonName{"Idle", ClockReason::idle},
    ReasonName{"Applications Clocks Setting", ClockReason::applications_clocks},
    ReasonName{"SW Power Cap", ClockReason::power_cap},
    ReasonName{"HW Slowdown", ClockReason::hw_slowdown},
    ReasonName{"HW Thermal Slowdown", ClockReason::hw_thermal},
    ReasonName{"HW Power Brake Slowdown", ClockReason::hw_power_brake},
    ReasonName{"Sync Boost", ClockReason::sync_boost},
    ReasonName{"SW Thermal Slowdown", ClockReason::sw_thermal},
    ReasonName{"Display Clock Setting", ClockReason::display_clock},
};

struct NumberKey {
    std::string_view path;
    std::optional<double> GpuState::*to;
};
constexpr std::array number_keys{
    NumberKey{"Clocks/SM", &GpuState::sm_mhz},
    NumberKey{"Max Clocks/SM", &GpuState::max_sm_mhz},
    NumberKey{"Applications Clocks/Graphics", &GpuState::application_sm_mhz},
    NumberKey{"Temperature/GPU Current Temp", &GpuState::temperature_c},
    NumberKey{"Temperature/GPU T.Limit Temp", &GpuState::margin_c},
    NumberKey{"Temperature/GPU Slowdown Temp", &GpuState::slowdown_c},
    NumberKey{"GPU Power Readings/Power Draw", &GpuState::power_w},
    NumberKey{"GPU Power Readings/Average Power Draw", &GpuState::power_w},
    NumberKey{"GPU Power Readings/Current Power Limit", &GpuState::power_limit_w},
    NumberKey{"GPU Power Readings/Default Power Limit", &GpuState::default_power_limit_w},
    NumberKey{"Power Readings/Power Draw", &GpuState::power_w},
    NumberKey{"Power Readings/Power Limit", &GpuState::power_limit_w},
    NumberKey{"Power Readings/Default Power Limit", &GpuState::default_power_limit_w},
    NumberKey{"PCI/GPU Link Info/PCIe Generation/Current", &GpuState::pcie_gen},
    NumberKey{"PCI/GPU Link Info/PCIe Generation/Max", &GpuState::pcie_gen_max},
    NumberKey{"PCI/GPU Link Info/PCIe Generation/Device Max", &GpuState::pcie_gen_device},
    NumberKey{"PCI/GPU Link Info/PCIe Generation/Host Max", &GpuState::pcie_gen_host},
    NumberKey{"PCI/GPU Link Info/Link Width/Current", &GpuState::pcie_width},
    NumberKey{"PCI/GPU Link Info/Link Width/Max", &GpuState::pcie_width_max},
};

struct CountKey {
    std::string_view path;
    std::optional<std::uint64_t> GpuState::*to;
};
/// Several lines add up to one count: parity and SEC-DED, SRAM and DRAM.
constexpr std::array count_keys{
    CountKey{"ECC Errors/Volatile/SRAM Correctable", &GpuState::corrected},
    CountKey{"ECC Errors/Volatile/DRAM Correctable", &GpuState::corrected},
    CountKey{"ECC Errors/Volatile/SRAM Uncorrectable", &GpuState::uncorrected},
    CountKey{"ECC Errors/Volatile/SRAM Uncorrectable Parity", &GpuState::uncorrected},
    CountKey{"ECC Errors/Volatile/SRAM Uncorrectable SEC-DED", &GpuState::uncorrected},
    CountKey{"ECC Errors/Volatile/DRAM Uncorrectable", &GpuState::uncorrected},
    CountKey{"ECC Errors/Aggregate/SRAM Uncorrectable", &GpuState::aggregate_uncorrected},
    CountKey{"ECC Errors/Aggregate/SRAM Uncorrectable Parity", &GpuState::aggregate_uncorrected},
    CountKey{"ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED", &GpuState::aggregate_uncorrected},
    CountKey{"ECC Errors/Aggregate/DRAM Uncorrectable", &GpuState::aggregate_uncorrected},
    CountKey{"Remapped Rows/Uncorrectable Error", &GpuState::remapped_uncorrected},
    CountKey{"PCI/Replays Since Reset", &GpuState::pcie_replays},
};

std::optional<bool> flag_of(std::string_view value) {
    if (value == "Enabled" || value == "Yes") {
        return true;
    }
    return value == "Disabled" || value == "No" ? std::optional{false} : std::nullopt;
}

}  // namespace

std::string_view name_of(ClockReason reason) {
    const auto* found = std::ranges::find(reason_names, reason, &ReasonName::reason);
    return found == reason_names.end() ? "unknown" : found->key;
}

void GpuStateReader::read_line(std::string_view line) {
    constexpr std::size_t most_labels = 65536;
    const auto label = take_label(line);
    if (places_.size() == most_labels && places_.find(label) == places_.end()) {
        return;
    }
    auto& place = places_[std::string{label}];
    const auto indent = line.find_first_not_of(" \t");
    if (indent == std::string_view::npos) {
        return;
    }
    if (line.starts_with("GPU ") && line.find(" : ") == std::string_view::npos) {
        place = {};
        if (states_.gpus.size() == most_gpus) {
            ++states_.left_out;
            return;
        }
        auto& gpu = states_.gpus.emplace_back();
        gpu.host = label;
        gpu.bus_id = trim(line.substr(4));
        gpu.evidence = evidence();
        place.gpu = states_.gpus.size() - 1;
        return;
    }
    const auto parts = split_key(line, ':');
    const auto key = parts ? parts->key : trim(line);
    while (!place.path.empty() && place.path.back().first >= indent) {
        place.path.pop_back();
    }
    std::string path;
    for (const auto& [at, name] : place.path) {
        path += name + "/";
    }
    path += key;
    constexpr std::size_t deepest = 8;
    if (place.path.size() < deepest) {
        place.path.emplace_back(indent, std::string{key.substr(0, evidence_limit)});
    }
    if (!parts) {
        return;
    }
    if (place.gpu) {
        set(states_.gpus[*place.gpu], path, parts->value);
    } else if (key == "Driver Version" && states_.driver.empty()) {
        states_.driver = parts->value.substr(0, evidence_limit);
    } else if (key == "CUDA Version" && states_.cuda.empty()) {
        states_.cuda = parts->value.substr(0, evidence_limit);
    }
}

void GpuStateReader::set(GpuState& gpu, const std::string& path, std::string_view value) {
    if (path.starts_with("Clocks Event Reasons/") || path.starts_with("Clocks Throttle Reasons/")) {
        set_reason(gpu, std::string_view{path}.substr(path.rfind('/') + 1), value);
        return;
    }
    const auto* number = std::ranges::find(number_keys, path, &NumberKey::path);
    if (number != number_keys.end()) {
        gpu.*number->to = number_in(value);
        return;
    }
    const auto* count = std::ranges::find(count_keys, path, &CountKey::path);
    if (count != count_keys.end()) {
        if (const auto more = parse_number<std::uint64_t>(value)) {
            gpu.*count->to = (gpu.*count->to).value_or(0) + *more;
        }
        return;
    }
    if (set_flag(gpu, path, value)) {
        return;
    }
    const auto text = value.substr(0, evidence_limit);
    if (path == "Product Name") {
        gpu.name = text;
    } else if (path == "Utilization/Gpu" || path == "Utilization/GPU") {
        const auto percent = number_in(value);
        gpu.utilization = percent ? std::optional{*percent / 100} : std::nullopt;
    } else if (path == "Fabric/State") {
        gpu.fabric_state = text;
    } else if (path == "Fabric/Status") {
        gpu.fabric_status = text;
    } else if (path == "GPU Recovery Action") {
        gpu.recovery_action = text;
    }
}

bool GpuStateReader::set_flag(GpuState& gpu, const std::string& path, std::string_view value) {
    const auto flag = flag_of(value);
    if (path == "Persistence Mode") {
        gpu.persistence = flag;
    } else if (path == "MIG Mode/Current") {
        gpu.mig = flag;
    } else if (path == "ECC Mode/Current") {
        gpu.ecc = flag;
    } else if (path == "GPU Reset Status/Reset Required") {
        gpu.reset_required = flag.value_or(false);
    } else if (path == "Remapped Rows/Pending" ||
               path == "Remapped Rows/Remapping Failure Occurred") {
        auto& to = path.ends_with("Pending") ? gpu.remap_pending : gpu.remap_failed;
        to = flag.value_or(false);
        if (to) {
            gpu.remap_evidence = evidence();
        }
    } else {
        return false;
    }
    return true;
}

void GpuStateReader::set_reason(GpuState& gpu, std::string_view key, std::string_view value) {
    const auto* found = std::ranges::find(reason_names, key, &ReasonName::key);
    if (found == reason_names.end() || (value != "Active" && value != "Not Active")) {
        return;
    }
    gpu.reasons_told = true;
    if (value == "Active") {
        const auto at = static_cast<std::size_t>(found->reason);
        gpu.active.at(at) = true;
        gpu.active_evidence.at(at) = evidence();
    }
}

}  // namespace railhead::diagnose
