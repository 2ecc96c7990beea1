#include "checkpoint/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

std::int64_t nanoseconds(const struct statx_timestamp& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

EntryKind kind_of(mode_t mode) {
    return S_ISREG(mode)   ? EntryKind::file
           : S_ISDIR(mode) ? EntryKind::folder
           : S_ISLNK(mode) ? EntryKind::link
                           : EntryKind::other;
}

std::optional<Entry> look_at(int folder, const char* name) {
    struct statx found {};
    // What the client of a network file system has cached is too old to tell a file's size by.
    constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_SYNC_AS_STAT;
    constexpr unsigned wanted = STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_BTIME;
    if (::statx(folder, name, flags, wanted, &found) != 0) {
        return std::nullopt;
    }
    Entry entry;
    entry.name = name;
    entry.kind = kind_of(found.stx_mode);
    entry.bytes = entry.kind == EntryKind::file ? found.stx_size : 0;
    entry.changed_ns = nanoseconds(found.stx_mtime);
    if ((found.stx_mask & STATX_BTIME) != 0 && nanoseconds(found.stx_btime) > 0) {
        entry.born_ns = nanoseconds(found.stx_btime);
    }
    return entry;
}

struct CloseStream {
    void operator()(DIR* stream) const { ::closedir(stream); }
};

/// Reads up to `most` bytes at `offset`.
std::string read_at(int fd, std::size_t most, off_t offset) {
    std::string text(most, '\0');
    std::size_t size = 0;
    while (size < most) {
        const auto got =
            ::pread(fd, text.data() + size, most - size, offset + static_cast<off_t>(size));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            break;
        }
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    text.resize(size);
    return text;
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)};
    if (!fd) {
        const int error = errno;
        return fail(error == ENOENT ? Errc::not_found : Errc::bad_input,
                    fmt::format("cannot open the folder \"{}\": {}", printable(path),
                                std::generic_category().message(error)));
    }
    return Folder{std::move(fd)};
}

Folder::Listing Folder::list(std::size_t most) const {
    Listing listing;
    // A description of its own: readdir() moves the position of the one that it reads.
    const int fd = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return listing;
    }
    const std::unique_ptr<DIR, CloseStream> stream{::fdopendir(fd)};
    if (!stream) {
        ::close(fd);
        return listing;
    }
    std::size_t read = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
    while (const auto* found = ::readdir(stream.get())) {
        const std::string_view name{static_cast<const char*>(found->d_name)};
        if (name == "." || name == "..") {
            continue;
        }
        if (read++ >= most) {
            listing.is_cut = true;
            break;
        }
        if (auto entry = look_at(fd, name.data())) {
            listing.entries.push_back(std::move(*entry));
        }
    }
    return listing;
}

std::optional<Entry> Folder::find(const std::string& name) const {
    return look_at(fd_.get(), name.c_str());
}

std::optional<Folder> Folder::below(const std::string& name) const {
    UniqueFd fd{::openat(fd_.get(), name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    return fd ? std::optional{Folder{std::move(fd)}} : std::nullopt;
}

UniqueFd Folder::open_file(const std::string& name) const {
    UniqueFd fd{::openat(fd_.get(), name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status {};
    const bool is_file = fd && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
    return is_file ? std::move(fd) : UniqueFd{};
}

std::optional<std::string> Folder::read(const std::string& name, std::size_t most) const {
    const auto fd = open_file(name);
    if (!fd) {
        return std::nullopt;
    }
    auto text = read_open_file(fd.get(), name, most);
    return text && text->size() <= most ? std::optional{std::move(*text)} : std::nullopt;
}

std::optional<Folder::Ends> Folder::ends(const std::string& name, std::size_t most) const {
    const auto fd = open_file(name);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return std::nullopt;
    }
    const auto size = std::min<off_t>(static_cast<off_t>(most), status.st_size);
    return Ends{read_at(fd.get(), static_cast<std::size_t>(size), 0),
                read_at(fd.get(), static_cast<std::size_t>(size), status.st_size - size)};
}

bool Folder::is_remote() const {
    struct statfs status {};
    return ::fstatfs(fd_.get(), &status) != 0 ||
           is_remote_magic(static_cast<std::uint64_t>(status.f_type) & 0xffffffffU);
}

bool is_remote_magic(std::uint64_t magic) {
    // linux/magic.h has some; the others are those that the file systems' own sources give.
    constexpr std::array<std::uint64_t, 12> remote{
        0x6969,      // NFS
        0x0bd00bd0,  // Lustre
        0x47504653,  // GPFS, "GPFS"
        0x19830326,  // BeeGFS
        0x00c36400,  // CephFS
        0x65735546,  // FUSE: WekaFS by its older client, GlusterFS, object stores
        0x18031977,  // WekaFS
        0xff534d42,  // CIFS
        0xfe534d42,  // SMB2
        0x01021997,  // 9p
        0x5346414f,  // AFS
        0xaad7aaea,  // PanFS
    };
    return std::ranges::find(remote, magic) != remote.end();
}

}  // namespace railhead::checkpoint
