// What a daemon keeps for itself is not read when anybody else could have put it there.
#include "base/trusted_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using railhead::Errc;
using railhead::TrustedFolder;
using railhead::test::TempDir;

namespace {

constexpr uid_t other = 65534;
constexpr std::size_t limit = 100;

/// A folder with a good file in it.
struct Kept {
    TempDir above;
    std::string folder = above.path("kept");
    std::string file = folder + "/facts";

    Kept() {
        const auto made = TrustedFolder::make(folder, ::getuid());
        REQUIRE(made);
        REQUIRE(made->write("facts", "all is well\n"));
    }
    [[nodiscard]] railhead::Result<std::string> read(const std::string& name = "facts") const {
        const auto open = TrustedFolder::open(folder, ::getuid());
        return open ? open->read(name, limit) : tl::unexpected{open.error()};
    }
    /// Puts something else in the place of the file.
    template <class Make>
    void replace(Make make) const {
        std::filesystem::remove(file);
        REQUIRE(make() == 0);
    }
};

mode_t mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("what was kept is read again, and others can read it", "[trusted]") {
    const auto umask = ::umask(077);
    const Kept kept;
    ::umask(umask);

    CHECK(kept.read() == "all is well\n");
    CHECK(mode_of(kept.file) == 0644);
    CHECK(std::distance(std::filesystem::directory_iterator{kept.folder}, {}) == 1);
}

TEST_CASE("a file is exchanged as a whole", "[trusted]") {
    const Kept kept;
    const auto open = TrustedFolder::open(kept.folder, ::getuid());
    const auto before = std::filesystem::hard_link_count(kept.file);
    std::filesystem::create_hard_link(kept.file, kept.above.path("held"));

    REQUIRE(open->write("facts", "other\n"));

    CHECK(before == 1);
    CHECK(kept.read() == "other\n");
    CHECK(std::filesystem::file_size(kept.above.path("held")) == 12);  // the old one, untouched
}

TEST_CASE("what is left of a writer that was killed is in nobody's way", "[trusted]") {
    const Kept kept;
    const auto rest = kept.folder + "/.facts." + std::to_string(::getpid());
    std::filesystem::create_symlink(kept.above.path("elsewhere"), rest);

    REQUIRE(TrustedFolder::open(kept.folder, ::getuid())->write("facts", "new\n"));

    CHECK(kept.read() == "new\n");
    CHECK_FALSE(std::filesystem::exists(kept.above.path("elsewhere")));
}

TEST_CASE("a file that others could have made is not read", "[trusted][errors]") {
    struct Case {
        std::string why, message;
        void (*spoil)(const Kept& kept);
    };
    const auto c = GENERATE(values<Case>({
        {"a link, even to a good file", "cannot open",
         [](const Kept& kept) {
             kept.replace(
                 [&] { return ::symlink(kept.above.path("beside").c_str(), kept.file.c_str()); });
         }},
        {"a pipe: it must not block", "is not a regular file",
         [](const Kept& kept) { kept.replace([&] { return ::mkfifo(kept.file.c_str(), 0644); }); }},
        {"a folder", "is not a regular file",
         [](const Kept& kept) { kept.replace([&] { return ::mkdir(kept.file.c_str(), 0755); }); }},
        {"its group can write it", "can be written by others (mode 664)",
         [](const Kept& kept) { REQUIRE(::chmod(kept.file.c_str(), 0664) == 0); }},
        {"everybody can write it", "can be written by others (mode 646)",
         [](const Kept& kept) { REQUIRE(::chmod(kept.file.c_str(), 0646) == 0); }},
        {"it is larger than it may be", "is larger than 100 bytes",
         [](const Kept& kept) {
             std::filesystem::resize_file(kept.file, std::uintmax_t{1} << 40U);
         }},
        {"everybody can write the folder", "can be written by others (mode 1777)",
         [](const Kept& kept) { REQUIRE(::chmod(kept.folder.c_str(), 01777) == 0); }},
        {"its group can write the folder", "can be written by others (mode 775)",
         [](const Kept& kept) { REQUIRE(::chmod(kept.folder.c_str(), 0775) == 0); }},
        {"the folder is a link", "cannot open",
         [](const Kept& kept) {
             std::filesystem::rename(kept.folder, kept.above.path("moved"));
             std::filesystem::create_directory_symlink(kept.above.path("moved"), kept.folder);
         }},
        {"the folder is a file", "cannot open",
         [](const Kept& kept) {
             std::filesystem::remove_all(kept.folder);
             static_cast<void>(kept.above.write("kept", ""));
         }},
    }));
    CAPTURE(c.why);
    const Kept kept;
    static_cast<void>(kept.above.write("beside", "all is well\n"));
    c.spoil(kept);

    const auto text = kept.read();

    REQUIRE_FALSE(text);
    CHECK(text.error().code == Errc::bad_input);
    CHECK_THAT(text.error().message, ContainsSubstring(c.message));
}

TEST_CASE("a file or folder of another user is not read", "[trusted][errors]") {
    if (::getuid() != 0) {
        SKIP("only root can give a file away");
    }
    const Kept kept;
    const auto what = GENERATE(std::string{"file"}, "folder");
    CAPTURE(what);
    REQUIRE(::chown((what == "file" ? kept.file : kept.folder).c_str(), other, other) == 0);

    const auto text = kept.read();

    REQUIRE_FALSE(text);
    CHECK_THAT(text.error().message, ContainsSubstring("belongs to uid 65534, not to root"));
}

TEST_CASE("where there is nothing, that is said", "[trusted][errors]") {
    const Kept kept;
    CHECK(kept.read("none").error().code == Errc::not_found);
    CHECK(TrustedFolder::open(kept.above.path("none"), 0).error().code == Errc::not_found);
    CHECK(TrustedFolder::make(kept.above.path("none/below"), 0).error().code == Errc::unavailable);
}
