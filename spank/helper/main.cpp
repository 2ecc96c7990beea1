// railhead-ckpt: what runs beside the tasks of a step while it runs.  Started by the plugin on the
// nodes, as the job's user; not for people.
#include <unistd.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "clock.hpp"

namespace {

using namespace railhead;

int refuse(const std::string& message) {
    static_cast<void>(write_all(STDERR_FILENO, "railhead-ckpt: " + message + "\n"));
    return 2;
}

int run(std::string_view part, const std::vector<std::string_view>& words) {
    if (part == "clock") {
        const auto options = helper::parse_clock_options(words);
        return options ? helper::run_clock(*options) : refuse(to_string(options.error()));
    }
    return refuse("started by Slurm's spank_railhead.so alone: see spank_railhead(8)");
}

}  // namespace

int main(int count, char** values) {
    try {
        const std::vector<std::string_view> words{values + 1, values + count};
        return words.empty() ? run("", {}) : run(words.front(), {words.begin() + 1, words.end()});
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
}
