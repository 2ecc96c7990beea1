#include "text_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "base/text.hpp"

namespace railhead::cli {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20U;

/// zlib's message without its name of the file, "<fd:4>: ".
std::string_view without_name(std::string_view message) {
    constexpr std::string_view between = ">: ";
    const auto at = message.starts_with("<fd:") ? message.find(between) : std::string_view::npos;
    return at == std::string_view::npos ? message : message.substr(at + between.size());
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
    return fail(error == ENOENT ? Errc::not_found : Errc::bad_input,
                fmt::format("cannot {} \"{}\": {}", what, printable(path),
                            std::generic_category().message(error)));
}

Result<UniqueFd> open_for_reading(const std::string& path) {
    UniqueFd fd{path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) {
        return cannot("open", path, errno);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
        return cannot("read", path, EISDIR);
    }
    return fd;
}

gzFile as_gzip(void* file) {
    return static_cast<gzFile>(file);
}

}  // namespace

void TextStream::Close::operator()(void* file) const noexcept {
    ::gzclose(as_gzip(file));
}

Result<TextStream> TextStream::open(const std::string& path) {
    auto fd = open_for_reading(path);
    if (!fd) {
        return propagate(fd);
    }
    TextStream stream;
    struct stat status {};
    if (::fstat(fd->get(), &status) == 0 && S_ISREG(status.st_mode)) {
        stream.size_ = static_cast<std::uint64_t>(status.st_size);
    }
    const int own = ::dup(fd->get());  // gzclose() closes it
    stream.file_.reset(own < 0 ? nullptr : ::gzdopen(own, "rb"));
    if (!stream.file_) {
        return cannot("read", path, own < 0 ? errno : ENOMEM);
    }
    ::gzbuffer(as_gzip(stream.file_.get()), piece_bytes / 4);
    stream.path_ = path;
    stream.piece_.resize(piece_bytes);
    return stream;
}

Result<std::string_view> TextStream::read() {
    auto* const file = as_gzip(file_.get());
    const int count = ::gzread(file, piece_.data(), static_cast<unsigned>(piece_.size()));
    int code = Z_OK;
    const std::string_view message = ::gzerror(file, &code);
    if (code == Z_BUF_ERROR) {
        cut_ = without_name(message);  // zlib 1.3.2 tells it with the last bytes only, not again
    }
    if (count > 0) {
        return std::string_view{piece_.data(), static_cast<std::size_t>(count)};
    }
    if (code == Z_ERRNO) {
        return cannot("read", path_, errno);
    }
    const bool sound = code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR;
    const auto why = sound ? std::string_view{cut_} : without_name(message);
    if (why.empty()) {
        return std::string_view{};
    }
    return fail(Errc::bad_input, fmt::format("\"{}\" is damaged or cut: {}", printable(path_), why));
}

std::uint64_t TextStream::done() const {
    const auto offset = ::gzoffset(as_gzip(file_.get()));
    return offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
}

Result<GrowingText> GrowingText::open(const std::string& path) {
    auto fd = open_for_reading(path);
    if (!fd) {
        return propagate(fd);
    }
    GrowingText text;
    text.fd_ = std::move(*fd);
    text.path_ = path;
    text.piece_.resize(piece_bytes);
    return text;
}

bool GrowingText::is_new_file() const {
    struct stat ours {};
    struct stat named {};
    if (::fstat(fd_.get(), &ours) != 0 || ::stat(path_.c_str(), &named) != 0) {
        return false;  // it may come back
    }
    return ours.st_ino != named.st_ino || ours.st_dev != named.st_dev ||
           static_cast<std::uint64_t>(ours.st_size) < at_;
}

Result<std::string_view> GrowingText::read() {
    const auto count = ::read(fd_.get(), piece_.data(), piece_.size());
    if (count > 0) {
        at_ += static_cast<std::uint64_t>(count);
        return std::string_view{piece_.data(), static_cast<std::size_t>(count)};
    }
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
        return cannot("read", path_, errno);
    }
    if (path_ != "-" && is_new_file()) {
        auto again = open_for_reading(path_);
        if (again) {
            fd_ = std::move(*again);
            at_ = 0;
        }
    }
    return std::string_view{};
}

}  // namespace railhead::cli
