// Whether something changed in a folder and those just below it: inotify, where it works.
#pragma once

#include <vector>

#include "base/file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/layouts.hpp"

namespace railhead::helper {

class Changes {
 public:
    /// Hears of nothing where the kernel has no inotify left for this user, or the folder lies on a
    /// file system that other nodes write to.  Whether something is followed that was not before:
    /// what changed since `scan` was then not heard.
    bool follow(const checkpoint::Folder& folder, const checkpoint::Scan& scan);

    /// Readable when something changed; -1: nothing is heard.
    [[nodiscard]] int fd() const { return heard_ ? inotify_.get() : -1; }
    void drain() const;

 private:
    UniqueFd inotify_;
    std::vector<int> watches_;
    bool heard_ = false;
};

}  // namespace railhead::helper
