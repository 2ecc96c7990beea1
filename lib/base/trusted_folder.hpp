// A folder in which a daemon keeps files for itself, and that nobody else can have written.
//
// Whoever may write into a folder can put any file there, his own or a link to another's.  So the
// folder is checked as well as the file, both on what was opened, and a name is never followed.
// The folders above it are not looked at: it belongs below one of root's, such as /run.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace railhead {

class TrustedFolder {
 public:
    /// Fails with `not_found` where there is none, and with `bad_input` where it is no folder, or a
    /// link to one, belongs neither to root nor to `owner`, or others than its owner may write it.
    [[nodiscard]] static Result<TrustedFolder> open(const std::string& path, uid_t owner);

    /// As open(); makes the folder where only itself is missing.
    /// Fails with `unavailable`, too, where it cannot be made.
    [[nodiscard]] static Result<TrustedFolder> make(const std::string& path, uid_t owner);

    /// The whole of the regular file `name`.
    /// Fails as open() does of the folder, and with `bad_input` above `limit` bytes.
    [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t limit) const;

    /// Puts `text` into the file `name`, at once: a reader finds the old file or the whole new one.
    /// Fails with `unavailable`, and then leaves nothing behind.
    [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;

 private:
    TrustedFolder(UniqueFd fd, std::string path, uid_t owner)
        : fd_{std::move(fd)}, path_{std::move(path)}, owner_{owner} {}

    UniqueFd fd_;
    std::string path_;
    uid_t owner_;
};

}  // namespace railhead
