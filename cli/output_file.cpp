#include "output_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

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

}  // namespace railhead::cli
