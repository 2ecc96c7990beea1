#include "rails_compare.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "node/probe.hpp"
#include "report/rail_compare.hpp"

namespace railhead::cli {

namespace {

using Identities = std::vector<rails::RailIdentity>;

constexpr auto standard_input = "standard input";

Result<Identities> from_record(const std::string& text, const std::string& file) {
    auto node = node::probe({.file = file, .text = text, .root = "/nonexistent"});
    if (!node) {
        return propagate(node);
    }
    return Identities{rails::identify_rails(*node, rails::plan_rails(*node), file)};
}

/// Cuts the label "12: " of srun or "gpu01: " of pdsh off a line, which JSON itself never has.
std::string_view cut_label(std::string_view& line) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos || blank < 2 || line[blank - 1] != ':' ||
        line.find('"') < blank) {
        return {};
    }
    const auto label = trim(line.substr(0, blank - 1));
    line.remove_prefix(blank + 1);
    return label;
}

/// srun pads labels: " 3: " beside "12: ".
std::string_view without_padding(std::string_view line) {
    const auto word = line.find_first_not_of(' ');
    const auto colon = line.find(": ");
    const bool padded = word != std::string_view::npos && colon != std::string_view::npos &&
                        line.find('"') > colon && word < colon;
    return padded ? line.substr(word) : line;
}

Result<rails::RailIdentity> from_json(const std::string& text, std::string_view label) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto word = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string{};
    };
    if (!json.is_object() || word("schema") != "railhead.rails/1" || word("fingerprint").empty()) {
        return fail(Errc::bad_input, "no JSON of railhead rails (schema railhead.rails/1)");
    }
    rails::RailIdentity identity;
    identity.fingerprint = word("fingerprint");
    identity.list = word("rails");
    identity.shape = word("shape");
    identity.node = word("node").empty() ? std::string{label} : word("node");
    return identity;
}

/// Takes the lines of one file, in which srun mixes those of several nodes.
class Gatherer {
 public:
    explicit Gatherer(std::string file) : file_{std::move(file)} {}

    Result<void> add(std::string_view line) {
        ++line_;
        auto rest = without_padding(line);
        const std::string label{cut_label(rest)};
        if (open_.contains(label) || trim(rest).starts_with('{')) {
            return add_json(label, rest);
        }
        return trim(line).empty() ? Result<void>{} : keep(rails::parse_identity(line), line_);
    }

    Result<Identities> finish() {
        if (!open_.empty()) {
            return fail(Errc::bad_input, "JSON that does not end",
                        {file_, open_.begin()->second.line, 1});
        }
        if (found_.empty()) {
            return fail(Errc::bad_input, fmt::format("no node in \"{}\"", file_));
        }
        return std::move(found_);
    }

 private:
    /// One JSON text so far, and the line that it began at.
    struct Document {
        std::string text;
        unsigned line = 0;
    };

    Result<void> add_json(const std::string& label, std::string_view line) {
        auto& document = open_.try_emplace(label, Document{"", line_}).first->second;
        document.text += fmt::format("{}\n", line);
        if (!line.starts_with('}')) {
            return {};
        }
        const auto done = std::move(document);
        open_.erase(label);
        return keep(from_json(done.text, label), done.line);
    }

    Result<void> keep(Result<rails::RailIdentity> identity, unsigned line) {
        if (!identity) {
            identity.error().where = {file_, line, 1};
            return propagate(identity);
        }
        found_.push_back(std::move(*identity));
        return {};
    }

    std::string file_;
    unsigned line_ = 0;
    std::map<std::string, Document> open_;  ///< by label
    Identities found_;
};

/// A recorded node, and no line that a command wrote: XML that is cut off, too.
bool is_record(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return (first != std::string::npos && text[first] == '<') ||
           node::find_source_kind(text) == node::SourceKind::capture;
}

}  // namespace

Result<Identities> parse_identities(const std::string& text, const std::string& file) {
    if (is_record(text)) {
        return from_record(text, file);
    }
    Gatherer gatherer{file};
    for (const auto line : split(text, '\n')) {
        if (auto added = gatherer.add(line); !added) {
            return propagate(added);
        }
    }
    return gatherer.finish();
}

void compare_rail_files(const std::vector<std::string>& files, std::istream& in, Console& console) {
    Identities nodes;
    for (const auto& file : files) {
        const auto text = file == "-"
                              ? Result<std::string>{std::string{std::istreambuf_iterator<char>{in},
                                                                std::istreambuf_iterator<char>{}}}
                              : read_file(file);
        if (!text) {
            return console.fail(text.error());
        }
        auto found = parse_identities(*text, file == "-" ? standard_input : file);
        if (!found) {
            return console.fail(found.error());
        }
        std::ranges::move(*found, std::back_inserter(nodes));
    }
    const auto comparison = report::compare_rails(nodes);
    console.out << comparison.text;
    if (!comparison.is_same) {
        console.leave(Exit::findings);
    }
}

}  // namespace railhead::cli
