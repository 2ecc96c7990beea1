#include "node/cache.hpp"

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/trusted_folder.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

/// The largest machines have some 30 kB.
constexpr std::size_t most_bytes = std::size_t{1} << 20U;

constexpr std::size_t small_file = 4096;

/// The names in a folder, in few digits: how many, and the sum of their hashes, for which order
/// does not count.  "0" where there is no folder.
std::string digest_of_names(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(folder.c_str()), &::closedir};
    std::size_t count = 0;
    std::uint64_t sum = 0;
    while (const auto* const entry = open ? ::readdir(open.get()) : nullptr) {
        const std::string_view name{entry->d_name};
        if (name != "." && name != "..") {
            ++count;
            sum += fnv1a(name);
        }
    }
    return count == 0 ? "0" : fmt::format("{}:{:016x}", count, sum);
}

std::string identity_of(const std::string& file) {
    const auto stamp = stamp_of(file);
    return fmt::format("{} {} {} {} {}", printable(file), stamp.inode, stamp.size, stamp.mtime_ns,
                       stamp.ctime_ns);
}

/// A comment, to the reader of captures.
std::string key_line(const std::string& key) {
    return fmt::format("# facts of {}\n", key);
}

std::string_view first_line(std::string_view text) {
    const auto end = text.find('\n');
    return text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
}

}  // namespace

std::string cache_name(const CacheOptions& options) {
    return options.topology.empty() ? "live.node"
                                    : fmt::format("{:016x}.node", fnv1a(options.topology));
}

Result<std::string> make_cache_key(const CacheOptions& options) {
    const auto& root = options.root;
    const auto boot = read_file(root + "/proc/sys/kernel/random/boot_id", small_file);
    if (!boot || trim(*boot).empty()) {
        return fail(Errc::unavailable, "the kernel does not tell which boot this is");
    }
    const auto cpus = read_file(root + "/sys/devices/system/cpu/online", small_file);
    return fmt::format(
        "railhead {}, boot {}, CPUs {}, PCI {}, RDMA {}, cxi {}, nvidia {}, file {}",
        options.version, printable(trim(*boot)), cpus ? printable(trim(*cpus)) : "unknown",
        digest_of_names(root + "/sys/bus/pci/devices"),
        digest_of_names(root + "/sys/class/infiniband"), digest_of_names(root + "/sys/class/cxi"),
        digest_of_names(root + "/proc/driver/nvidia/gpus"),
        options.topology.empty() ? "none" : identity_of(options.topology));
}

Result<Node> read_cache(const CacheOptions& options, const std::string& key) {
    const auto folder = TrustedFolder::open(options.folder, options.owner);
    if (!folder) {
        return tl::unexpected{folder.error()};
    }
    const auto text = folder->read(cache_name(options), most_bytes);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    auto rest = std::string_view{*text};
    rest.remove_prefix(first_line(rest).size());
    if (!rest.starts_with(key_line(key))) {
        return fail(Errc::not_found, "the facts are of another boot, or of other devices");
    }
    auto node = from_wire(*text);
    if (node) {
        add_sysfs(*node, options.root);
    }
    return node;
}

Result<void> write_cache(const CacheOptions& options, const std::string& key, const Node& node) {
    auto kept = node;
    kept.allowed = {};
    auto text = to_wire(kept);
    text.insert(first_line(text).size(), key_line(key));
    if (text.size() > most_bytes) {
        return fail(Errc::unsupported,
                    fmt::format("the facts are larger than {} bytes", most_bytes));
    }
    const auto folder = TrustedFolder::make(options.folder, options.owner);
    return folder ? folder->write(cache_name(options), text) : tl::unexpected{folder.error()};
}

}  // namespace railhead::node
