#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace railhead::cli {

Result<void> write_file(const std::string& path, const std::string& text) {
    std::ofstream out{path, std::ios::binary};
    out << text;
    out.close();
    if (!out) {
        return fail(Errc::unavailable, fmt::format("cannot write \"{}\": {}", path,
                                                   std::generic_category().message(errno)));
    }
    return {};
}

namespace {

Error cannot_write(const std::string& path, int why) {
    return {Errc::unavailable,
            fmt::format("cannot write \"{}\": {}", printable(path), std::generic_category().message(why)),
            {}};
}

/// Fails where the file is there, also if it came to be a moment ago.
Result<void> write_new_file(const NewFile& file) {
    constexpr mode_t readable = 0644;
    const UniqueFd fd{
        ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, readable)};
    if (!fd && errno == EEXIST) {
        return fail(Errc::bad_input, fmt::format("\"{}\" is there already, and nothing is written "
                                                 "over: name another folder, or move it away",
                                                 printable(file.path)));
    }
    if (!fd) {
        return tl::unexpected{cannot_write(file.path, errno)};
    }
    if (!write_all(fd.get(), file.text)) {
        const auto why = errno;
        ::unlink(file.path.c_str());
        return tl::unexpected{cannot_write(file.path, why)};
    }
    return {};
}

}  // namespace

Result<void> write_new_files(const std::string& folder, std::span<const NewFile> files) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return tl::unexpected{cannot_write(folder, error.value())};
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (auto written = write_new_file(files[i]); !written) {
            for (std::size_t made = 0; made < i; ++made) {
                ::unlink(files[made].path.c_str());
            }
            return written;
        }
    }
    return {};
}

}  // namespace railhead::cli
