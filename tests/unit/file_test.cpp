#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"

using namespace railhead;

namespace {

/// A folder of this test's own, gone with it.
class Folder {
 public:
    Folder() { std::filesystem::create_directories(path_); }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }
    [[nodiscard]] std::string write(const char* name, const std::string& text) const {
        std::ofstream{path_ / name, std::ios::binary} << text;
        return *this / name;
    }

 private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / fmt::format("railhead-file-{}", ::getpid());
};

}  // namespace

TEST_CASE("a file is read whole, NUL bytes and all", "[file]") {
    const Folder folder;
    const std::string text(200'000, '\0');

    CHECK(read_file(folder.write("f", text)) == text);
    CHECK(read_file(folder.write("g", "")) == std::string{});
}

TEST_CASE("what is no regular file is refused without waiting for it", "[file]") {
    const Folder folder;
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);

    const auto missing = read_file(folder / "none");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::not_found);
    CHECK(read_file(folder / "none/below").error().code == Errc::not_found);
    CHECK(read_file(folder / "pipe").error().code == Errc::bad_input);
    CHECK(read_file(folder / "").error().code == Errc::bad_input);
    CHECK(read_file("/dev/zero").error().code == Errc::bad_input);
}

TEST_CASE("a file beyond the limit is refused", "[file]") {
    const Folder folder;
    const auto path = folder.write("f", std::string(1000, 'x'));

    CHECK(read_file(path, 1000));
    const auto refused = read_file(path, 999);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, ContainsSubstring("larger than 999 bytes"));
}

TEST_CASE("root acts only on files that others cannot write", "[file]") {
    const Folder folder;
    const auto path = folder.write("policy", "x");
    ::chmod(path.c_str(), 0644);
    CHECK(read_trusted_file(path, ::getuid()));

    ::chmod(path.c_str(), 0664);
    CHECK(read_trusted_file(path, ::getuid()).error().code == Errc::bad_input);
    ::chmod(path.c_str(), 0646);
    CHECK(read_trusted_file(path, ::getuid()).error().code == Errc::bad_input);
}

TEST_CASE("a file of another user is not trusted", "[file]") {
    if (::getuid() != 0) {
        SKIP("only root can make a file of another user");
    }
    const Folder folder;
    const auto path = folder.write("policy", "x");
    ::chmod(path.c_str(), 0644);
    REQUIRE(::chown(path.c_str(), 1234, 0) == 0);

    CHECK_FALSE(read_trusted_file(path, 0));
    CHECK(read_trusted_file(path, 1234));
}

TEST_CASE("a stamp tells versions apart, and a file from none", "[file]") {
    const Folder folder;
    CHECK(stamp_of(folder / "none") == FileStamp{});
    const auto path = folder.write("f", "x");
    const auto before = stamp_of(path);
    CHECK(before == stamp_of(path));
    CHECK_FALSE(before == FileStamp{});

    const auto after = stamp_of(folder.write("f", "xy"));

    CHECK_FALSE(after == before);
}

TEST_CASE("a descriptor is closed once, by its last owner", "[file]") {
    const int raw = ::open("/dev/null", O_RDONLY);
    {
        UniqueFd first{raw};
        UniqueFd second{std::move(first)};
        CHECK(second.get() == raw);
    }
    CHECK(::fcntl(raw, F_GETFD) == -1);
}
