// Writing a file that a user named.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"

namespace railhead::cli {

/// Writes `text` to `path`, over what was there.
/// Fails with `unavailable` and why.
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& text);

struct NewFile {
    std::string path;
    std::string text;
};

/// Writes files that are not there yet into `folder`, which is made where it is not there either.
/// Fails, and writes none, with `bad_input` where one of them is there, and with `unavailable` and
/// why where one cannot be written.
[[nodiscard]] Result<void> write_new_files(const std::string& folder, std::span<const NewFile> files);

}  // namespace railhead::cli
