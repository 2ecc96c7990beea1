#include "node/facts.hpp"

#include <utility>

#include "base/file.hpp"

namespace railhead::node {

namespace {

/// `key` was made before the look: what changes meanwhile makes it another one.
Result<Facts> gather(const CacheOptions& options, const Result<std::string>& key) {
    ProbeOptions look{.file = options.topology, .root = options.root, .as_nobody = true};
    if (!options.topology.empty()) {
        auto text = read_trusted_file(options.topology, options.owner);
        if (!text) {
            return propagate(text);
        }
        look.text = std::move(*text);
    }
    auto node = probe(look);
    if (!node) {
        return propagate(node);
    }
    Facts facts{std::move(*node), false, {}};
    facts.node.allowed = {};
    const auto kept =
        key ? write_cache(options, *key, facts.node) : Result<void>{tl::unexpected{key.error()}};
    facts.unkept = kept ? std::string{} : to_string(kept.error());
    return facts;
}

}  // namespace

Result<Facts> gather_facts(const CacheOptions& options) {
    return gather(options, make_cache_key(options));
}

Result<Facts> find_facts(const CacheOptions& options) {
    const auto key = make_cache_key(options);
    if (key) {
        if (auto node = read_cache(options, *key)) {
            return Facts{std::move(*node), true, {}};
        }
    }
    return gather(options, key);
}

}  // namespace railhead::node
