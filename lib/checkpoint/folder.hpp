// A folder that somebody else writes into while we look: read by descriptor, never left.
//
// The folder itself may be named by a link, as a user's scratch is.  Below it no link is followed,
// nothing but regular files is opened, and what is read is bounded in size and number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace railhead::checkpoint {

enum class EntryKind : std::uint8_t { file, folder, link, other };

struct Entry {
    std::string name;
    EntryKind kind = EntryKind::other;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;          ///< mtime, by the clock of the file system
    std::optional<std::int64_t> born_ns;  ///< where the file system keeps it
};

/// How much of a folder is looked at.
struct Limits {
    std::size_t entries = 20'000;  ///< of one folder
    std::size_t tree = 100'000;    ///< of all folders in one look
    int depth = 6;
};

class Folder {
 public:
    /// Fails with `not_found` where there is none, `bad_input` where it is none or cannot be read.
    [[nodiscard]] static Result<Folder> open(const std::string& path);

    /// What is in it, without "." and "..", in no order; what vanishes meanwhile is left out.
    struct Listing {
        std::vector<Entry> entries;
        bool is_cut = false;  ///< there are more than `most`
    };
    [[nodiscard]] Listing list(std::size_t most) const;

    /// The entry `name`; nothing where there is none.
    [[nodiscard]] std::optional<Entry> find(const std::string& name) const;

    /// The folder `name` in this one; nothing where it is none, or a link.
    [[nodiscard]] std::optional<Folder> below(const std::string& name) const;

    /// The regular file `name` whole; nothing where it is none, or larger than `most` bytes.
    [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t most) const;

    /// The first and the last bytes, at most `most` of each, of the regular file `name`.
    struct Ends {
        std::string first, last;
    };
    [[nodiscard]] std::optional<Ends> ends(const std::string& name, std::size_t most) const;

    /// Whether changes made on other nodes are not told to this one (inotify): NFS, Lustre, GPFS
    /// and the like.
    [[nodiscard]] bool is_remote() const;

    [[nodiscard]] int fd() const { return fd_.get(); }

 private:
    explicit Folder(UniqueFd fd) : fd_{std::move(fd)} {}
    [[nodiscard]] UniqueFd open_file(const std::string& name) const;
    UniqueFd fd_;
};

/// Whether a file system of this statfs magic number is told of changes by other nodes too.
[[nodiscard]] bool is_remote_magic(std::uint64_t magic);

}  // namespace railhead::checkpoint
