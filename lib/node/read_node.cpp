#include "node/read_node.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/from_hwloc.hpp"
#include "node/from_nccl_xml.hpp"
#include "node/from_topo_m.hpp"
#include "node/limits.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

constexpr std::string_view known_kinds =
    "hwloc's XML (lstopo --of xml), NCCL's topology XML (NCCL_TOPO_DUMP_FILE), the text of "
    "nvidia-smi topo -m, and what railhead node record writes";

/// The text behind the next `end`; empty where there is none.
std::string_view behind(std::string_view text, std::string_view end) {
    const auto at = text.find(end);
    return at == std::string_view::npos ? std::string_view{} : text.substr(at + end.size());
}

/// The text behind the mark that some editors put before UTF-8.
std::string_view without_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Whether it begins with the mark of UTF-16, or every other byte at its begin is zero.
bool is_utf16(std::string_view text) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        return true;
    }
    return text.size() >= 4 && (text[0] == '\0') != (text[1] == '\0') &&
           (text[0] == '\0') == (text[2] == '\0') && (text[1] == '\0') == (text[3] == '\0');
}

/// The name of the first element of XML, behind comments and declarations; "" for other text.
std::string_view first_element(std::string_view text) {
    for (text = trim(text); text.starts_with('<'); text = trim(text)) {
        if (text.starts_with("<!--")) {
            text = behind(text, "-->");
        } else if (text.starts_with("<?") || text.starts_with("<!")) {
            text = behind(text, ">");
        } else {
            text.remove_prefix(1);
            return text.substr(0, text.find_first_of(" \t\r\n/>"));
        }
    }
    return {};
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// Whether it has the words of a matrix, be it whole or in parts.
bool looks_like_topo_m(std::string_view text) {
    const bool device = has(text, "GPU0") || has(text, "NIC");
    return device && (has(text, "SYS") || has(text, "NODE") || has(text, "PIX") ||
                      has(text, "PHB") || has(text, "CPU Affinity"));
}

/// A capture names no file but the one that it is read from.
Result<Node> parse_capture(std::string_view text, const std::string& source) {
    auto node = from_wire(text);
    if (!node) {
        node.error().where.file = source;
        return node;
    }
    node->source = source;
    for (auto& warning : node->warnings) {
        warning.where.file = source;
    }
    return node;
}

tl::unexpected<Error> refuse(Errc code, const std::string& source, std::string_view why) {
    return fail(code, fmt::format("\"{}\" {}; railhead reads {}", source, why, known_kinds));
}

}  // namespace

SourceKind find_source_kind(std::string_view text) {
    text = without_mark(text);
    const auto element = first_element(text);
    if (element == "topology") {
        return SourceKind::hwloc_xml;
    }
    if (element == "system") {
        return SourceKind::nccl_xml;
    }
    if (element == "graphs") {
        return SourceKind::nccl_graph;
    }
    if (text.starts_with(wire_mark)) {
        return SourceKind::capture;
    }
    if (find_foreign_table(text)) {
        return SourceKind::foreign;
    }
    return looks_like_topo_m(text) ? SourceKind::topo_m : SourceKind::unknown;
}

Result<Node> parse_node(std::string_view text, std::string source, SourceKind kind) {
    text = without_mark(text);
    if (is_utf16(text)) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is UTF-16: save it as UTF-8", source));
    }
    kind = kind == SourceKind::unknown ? find_source_kind(text) : kind;
    if (kind != SourceKind::hwloc_xml && text.size() > most_text) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is larger than {} MiB", source, most_text >> 20U));
    }
    switch (kind) {
        case SourceKind::hwloc_xml:
            return parse_hwloc_xml(text, std::move(source));
        case SourceKind::nccl_xml:
            return parse_nccl_xml(text, std::move(source));
        case SourceKind::nccl_graph:
            return refuse(
                Errc::unsupported, source,
                "is XML of NCCL's graphs (NCCL_GRAPH_DUMP_FILE), which tells of rings and "
                "not of a node");
        case SourceKind::topo_m:
        case SourceKind::foreign:
            return parse_topo_m(text, std::move(source));
        case SourceKind::capture:
            return parse_capture(text, source);
        case SourceKind::unknown:
            break;
    }
    return refuse(Errc::bad_input, source,
                  trim(text).empty() ? "is empty" : "tells of no node in a known form");
}

}  // namespace railhead::node
