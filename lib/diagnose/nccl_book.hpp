// The facts of NCCL logs in the making: who said what, and what was said before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/hash_index.hpp"
#include "diagnose/nccl_facts.hpp"
#include "diagnose/nccl_line.hpp"

namespace railhead::diagnose {

class NcclBook {
 public:
    NcclBook();

    NcclLog log;
    std::uint32_t file = 0;
    std::uint64_t line = 0;      ///< that is read now
    std::string_view line_text;  ///< of it
    bool has_prefixes = false;   ///< lines of this file tell who says them
    bool is_cut = false;         ///< this line has no end: its last word may lack letters

    /// The line that is read now, as evidence.
    [[nodiscard]] Evidence evidence() const { return make_evidence(file, line, line_text); }

    /// The index of who says a record.  Where other text stands right before a prefix its host has
    /// letters in front that are not its own: then it is the rank that is known without them.
    std::uint32_t rank_of(const Prefix& prefix);
    /// Have what rank_of() looks at in the CPU's cache: first one, a little later the other.  Ranks
    /// of a large job that speak in turn are in none of its caches, and take as long as their
    /// lines.
    void prefetch_index(std::uint64_t hash) const { ranks_.prefetch(hash); }
    void prefetch_rank(std::uint64_t hash) const;
    /// The rank; for `nothing` one that is thrown away.
    [[nodiscard]] NcclRank& rank(std::uint32_t index) {
        return index == nothing ? nobody_ : log.ranks[index];
    }

    /// `rank` is `nothing` where the log does not tell who says it.
    void say(std::uint32_t rank, NcclTopic topic, std::string_view value);
    /// A connection: `name` ends before the number of a device ("NET/IB"), `is_gdr` for
    /// ".../GDRDMA".
    void add_path(NcclRank& rank, PathClass path, std::string_view name, bool is_gdr);
    void add_gdr(GdrChoice choice);
    void add_variable(std::string_view name, std::string_view value, bool from_environment);
    void add_communicator(std::uint32_t ranks, std::optional<std::uint64_t> id);
    /// `what` tells warnings apart: words with a digit in them do not count.  `rank` as above.
    void add_warning(std::uint32_t rank, NcclWarning warning, std::string_view what, Link link);
    void add_graph_link(std::string_view type, double gb_s);
    /// What stands below a switch of the topology; `switch_id` empty: it is below no switch.
    void begin_switch(std::uint32_t rank, std::string_view id);
    void add_to_switch(std::uint32_t rank, bool is_gpu, std::string_view id);
    void add_timeout(CollectiveTimeout timeout, std::uint32_t rank);
    void add_init_time(NcclRank& rank, double seconds);

    /// Puts what was kept for speed in its final order.
    void finish();

 private:
    /// Whether `table` has room for one more; counts what is left out.
    template <class T>
    bool has_room(const std::vector<T>& table, std::size_t limit);
    std::uint32_t host_of(std::string_view name);
    [[nodiscard]] const std::uint32_t* find_rank(std::uint64_t hash, const Prefix& prefix) const;
    [[nodiscard]] std::uint32_t find_glued(const Prefix& prefix) const;
    std::uint32_t add_rank(const Prefix& prefix);

    NcclRank nobody_;
    HashIndex hosts_, ranks_, sayings_, variables_, warnings_, communicator_ids_;
    std::array<std::uint32_t, nccl_topics> last_saying_{};
    std::uint64_t last_hash_ = 0;
    std::uint32_t last_rank_ = nothing;
    std::size_t last_path_ = 0;
    std::size_t last_communicators_ = 0;
    std::uint32_t switch_rank_ = nothing;  ///< whose topology is read
    std::size_t switch_ = SIZE_MAX;        ///< index of the switch
    float slowest_init_s_ = 0;
};

}  // namespace railhead::diagnose
