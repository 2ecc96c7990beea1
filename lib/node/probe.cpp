#include "node/probe.hpp"

#include <sys/syscall.h>
#include <unistd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/child.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "node/from_hwloc.hpp"
#include "node/read_node.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"

namespace railhead::node {

namespace {

// ---- in the child -------------------------------------------------------------------------

/// hwloc reads the tree below HWLOC_FSROOT as it reads that of its own machine.
Result<Node> look_here(const std::string& root) {
    const auto fsroot = "HWLOC_FSROOT=" + root;
    std::vector<const char*> variables;
    for (const auto* variable = hwloc_environment(); *variable != nullptr; ++variable) {
        variables.push_back(*variable);
    }
    if (root != "/") {
        variables.push_back(fsroot.c_str());
    }
    variables.push_back(nullptr);
    environ = const_cast<char**>(variables.data());
    auto node = read_hwloc();
    environ = const_cast<char**>(hwloc_environment());
    return node;
}

Result<Node> look_at_file(const ProbeOptions& options) {
    if (options.text) {
        return parse_node(*options.text, options.file, options.kind);
    }
    auto text =
        options.owner ? read_trusted_file(options.file, *options.owner) : read_file(options.file);
    return text ? parse_node(*text, options.file, options.kind) : Result<Node>{propagate(text)};
}

Result<Node> look(const ProbeOptions& options) {
    auto node = options.file.empty() ? look_here(options.root) : look_at_file(options);
    if (node) {
        add_sysfs(*node, options.root);
    }
    return node;
}

/// An error as one line: "error", code, file, line, column and message between tabs.
std::string error_line(const Error& error) {
    auto message = printable(error.message);
    std::ranges::replace(message, '\t', ' ');
    return fmt::format("error\t{}\t{}\t{}\t{}\t{}", static_cast<unsigned>(error.code),
                       printable(error.where.file), error.where.line, error.where.column, message);
}

/// Whoever sees this machine's facts as root sees no more than a plain user: hwloc, and a file that
/// it reads, need no rights.  By system calls: the library's functions want locks that another
/// thread may have held when we were forked.
bool become_nobody() {
    constexpr unsigned nobody = 65534;  // Linux: the user that stands for none
    return ::geteuid() != 0 ||
           (::syscall(SYS_setgroups, 0, nullptr) == 0 &&
            ::syscall(SYS_setresgid, nobody, nobody, nobody) == 0 &&
            ::syscall(SYS_setresuid, nobody, nobody, nobody) == 0);
}

std::string answer(const ProbeOptions& options) {
    // Not setenv(): the lock it takes may have been held by another thread when we were forked.
    environ = const_cast<char**>(hwloc_environment());
    try {
        if (options.as_nobody && !become_nobody()) {
            return error_line({Errc::unsupported, "cannot look at this node as nobody", {}});
        }
        const auto node = look(options);
        return node ? to_wire(*node) : error_line(node.error());
    } catch (const std::exception& e) {
        return error_line({Errc::internal, e.what(), {}});
    }
}

// ---- in the parent ------------------------------------------------------------------------

Result<Node> parse_answer(std::string_view text) {
    const auto fields = split(text, '\t');
    if (fields[0] == "error" && fields.size() == 6) {
        const auto code = parse_number<unsigned>(fields[1]);
        const auto line = parse_number<unsigned>(fields[3]);
        const auto column = parse_number<unsigned>(fields[4]);
        if (code && *code <= static_cast<unsigned>(Errc::internal) && line && column) {
            return fail(static_cast<Errc>(*code), std::string{fields[5]},
                        {std::string{fields[2]}, *line, *column});
        }
    }
    return from_wire(text);
}

/// hwloc takes its own machine's CPUs where there are none below the root.
Result<void> check_root(const std::string& root) {
    std::error_code error;
    return std::filesystem::is_directory(root + "/sys", error)
               ? Result<void>{}
               : fail(Errc::not_found,
                      fmt::format("there is no \"{}/sys\": the root of a machine has its sys and "
                                  "proc",
                                  root == "/" ? "" : root));
}

}  // namespace

Result<Node> probe(const ProbeOptions& options) {
    const bool is_live = options.file.empty();
    if (const auto root = is_live ? check_root(options.root) : Result<void>{}; !root) {
        return tl::unexpected{root.error()};
    }
    const auto whose = is_live ? std::string{"this node's hardware"}
                               : fmt::format("the process that reads \"{}\"", options.file);
    auto text = run_in_child([&] { return answer(options); }, whose, options.limit);
    return text ? parse_answer(*text) : Result<Node>{propagate(text)};
}

}  // namespace railhead::node
