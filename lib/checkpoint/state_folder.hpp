// Where a user's records are kept: $XDG_STATE_HOME/railhead, else ~/.local/state/railhead, for the
// user alone (mode 0700).
//
// It may lie on a shared file system and be used by several nodes at once: each file is exchanged
// as a whole, and who changes what is there holds a lock.  A file that cannot be read is put aside,
// never written over.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/trusted_folder.hpp"
#include "checkpoint/record.hpp"

namespace railhead::checkpoint {

using LookUp = std::function<std::optional<std::string>(std::string_view variable)>;

/// The path by the environment; fails with `not_found` where neither variable is an absolute path.
[[nodiscard]] Result<std::string> state_path(const LookUp& environment);

class StateFolder {
 public:
    /// Fails with `not_found` where there is none, `bad_input` where it is not `owner`'s alone to
    /// write, or a link.
    [[nodiscard]] static Result<StateFolder> open(const std::string& path, uid_t owner);
    /// As open(); makes it, and the folders above it, where they are missing.
    [[nodiscard]] static Result<StateFolder> make(const std::string& path, uid_t owner);

    /// The record of a job.  Fails with `not_found` where there is none, else `bad_input`.
    [[nodiscard]] Result<Record> read_record(std::uint32_t job) const;
    [[nodiscard]] Result<void> write_record(const Record& record) const;
    /// Renames a record that cannot be read; its new name.
    [[nodiscard]] Result<std::string> put_record_aside(std::uint32_t job) const;

    /// Fails with `not_found` where there is none yet, `bad_input` where it is none.
    [[nodiscard]] Result<History> read_history() const;
    /// Puts a cost into the history, under the lock.  `told` is what the user should hear, such as
    /// that a damaged history was put aside.  Fails with `unavailable`, too, when others hold the
    /// lock for too long.
    [[nodiscard]] Result<void> add_cost(const std::string& name, const Costs::One& cost,
                                        std::string& told) const;

    [[nodiscard]] const std::string& path() const { return path_; }

    static constexpr std::size_t most_bytes = std::size_t{4} << 20U;

 private:
    StateFolder(TrustedFolder top, std::string path, uid_t owner)
        : top_{std::move(top)}, path_{std::move(path)}, owner_{owner} {}
    [[nodiscard]] Result<TrustedFolder> jobs() const;
    [[nodiscard]] Result<UniqueFd> lock(std::chrono::milliseconds limit) const;

    TrustedFolder top_;
    std::string path_;
    uid_t owner_;
};

/// What a checkpoint of this user's jobs of that name took, as the history has it.  Nothing where
/// it has none; quick, and takes no lock.  Fails as StateFolder does.
[[nodiscard]] Result<std::optional<double>> cost_of(std::string_view job_name,
                                                    const LookUp& environment);

}  // namespace railhead::checkpoint
