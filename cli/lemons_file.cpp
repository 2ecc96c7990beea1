#include "lemons_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/trusted_folder.hpp"
#include "diagnose/lemons_list.hpp"

namespace railhead::cli {

Result<void> write_lemons_file(const std::string& path,
                               std::span<const diagnose::LemonNode> lemons, std::int64_t until_s,
                               bool is_update) {
    auto old = read_file(path);
    if (!old && old.error().code != Errc::not_found) {
        return propagate(old);
    }
    if (old && !is_update) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is there already: --update replaces the lines that "
                                "railhead lemons wrote into it and keeps all others",
                                printable(path)));
    }
    const std::filesystem::path whole{path};
    auto folder = whole.parent_path().string();
    folder = folder.empty() ? "." : folder;
    const auto opened = TrustedFolder::open(folder, ::geteuid());
    if (!opened) {
        return tl::unexpected{opened.error()};
    }
    return opened->write(whole.filename().string(),
                         diagnose::lemons_list(old ? *old : std::string{}, lemons, until_s));
}

}  // namespace railhead::cli
