#include "diagnose/ports_text.hpp"

#include <utility>

#include "base/text.hpp"

namespace railhead::diagnose {

void PortStateReader::read_line(std::string_view line) {
    constexpr std::size_t most_labels = 65536;
    const auto label = take_label(line, "hca_id");
    if (places_.size() == most_labels && places_.find(label) == places_.end()) {
        return;
    }
    auto& place = places_[std::string{label}];
    const auto text = trim(line);
    if (text.starts_with("CA '")) {
        place = {};
        place.device = word_after(text, "CA '", "'");
        return;
    }
    const auto parts = split_key(text, ':');
    if (!parts) {
        return;
    }
    const auto& [key, value] = *parts;
    if (key == "hca_id") {
        place = {};
        place.device = value.substr(0, evidence_limit);
    } else if (key == "Firmware version" || key == "fw_ver") {
        place.firmware = value.substr(0, evidence_limit);
    } else if (key == "port" || (key.starts_with("Port ") && value.empty())) {
        open_port(place, label, key == "port" ? value : key.substr(5));
    } else if (place.port) {
        set(ports_[*place.port], key, value);
    }
}

void PortStateReader::open_port(Place& place, std::string_view label, std::string_view number) {
    place.port.reset();
    const auto port = parse_number<unsigned>(trim(number));
    if (!port || place.device.empty() || ports_.size() == most_ports) {
        return;
    }
    auto& opened = ports_.emplace_back();
    opened.host = label;
    opened.device = place.device;
    opened.firmware = place.firmware;
    opened.port = *port;
    opened.evidence = evidence();
    place.port = ports_.size() - 1;
}

void PortStateReader::set(PortState& port, std::string_view key, std::string_view value) {
    const auto text = value.substr(0, evidence_limit);
    if (key == "State" || key == "state") {
        port.state = text;
        port.evidence = evidence();
    } else if (key == "Physical state" || key == "phys_state") {
        port.physical = text;
    } else if (key == "Rate") {
        port.rate_gb_per_s = number_in(value);
    } else if (key == "Link layer" || key == "link_layer") {
        port.link_layer = text;
    } else if (key == "active_mtu") {
        port.active_mtu = number_in(value);
    } else if (key == "max_mtu") {
        port.max_mtu = number_in(value);
    }
}

}  // namespace railhead::diagnose
