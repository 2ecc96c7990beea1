#include "node/wire_line.hpp"

#include <fmt/format.h>

#include "node/limits.hpp"

namespace railhead::node {

void WireLine::expect(std::size_t count) {
    if (fields_.size() - 1 != count) {
        fail_line(fmt::format("{} has {}, {} {} expected", kind(),
                              count_of(fields_.size() - 1, "field"), count,
                              count == 1 ? "is" : "are"));
    }
}

std::string_view WireLine::text(std::string_view name) {
    if (!good() || next_ >= fields_.size()) {
        return {};
    }
    name_ = name;
    return fields_[next_++];
}

std::optional<double> WireLine::optional_rate(std::string_view name) {
    const auto word = text(name);
    if (word.empty()) {
        return std::nullopt;
    }
    double value = 0;
    const auto* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, value);
    if (error != std::errc{} || end != last || !std::isfinite(value)) {
        fail("a number");
    }
    return value;
}

bool WireLine::flag(std::string_view name) {
    const auto word = text(name);
    if (word != "0" && word != "1") {
        fail("0 or 1");
    }
    return word == "1";
}

CpuSet WireLine::cpus(std::string_view name) {
    const auto set = parse_cpu_list(text(name));
    if (!set) {
        fail("a CPU list like 0-15,64-79");
        return {};
    }
    cpus_listed_ += set->size();
    return *set;
}

std::optional<PciAddress> WireLine::pci(std::string_view name) {
    const auto word = text(name);
    if (word.empty()) {
        return std::nullopt;
    }
    const auto address = parse_pci_address(word);
    if (!address) {
        fail("a PCI address like 0000:17:00.0");
        return std::nullopt;
    }
    return *address;
}

std::string WireLine::device(std::string_view name) {
    const auto word = text(name);
    if (!is_device_name(word)) {
        fail("a name of up to 64 letters, digits, '_', '.' and '-'");
    }
    return std::string{word};
}

void WireLine::fail(std::string_view expected) {
    if (!good()) {
        return;
    }
    const auto word = fields_[next_ - 1];
    column_ = static_cast<unsigned>(word.data() - line_.data() + 1);
    trouble_ = fmt::format("{} of {} is '{}', not {}", name_, kind(), printable(word), expected);
}

void WireLine::fail_line(std::string why) {
    if (good()) {
        trouble_ = std::move(why);
    }
}

}  // namespace railhead::node
