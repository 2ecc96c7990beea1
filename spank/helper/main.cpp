// railhead-ckpt: what runs beside the tasks of a step while it runs, with the rights of the job's
// user.  Started by the plugin on the nodes; not for people.
#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "clock.hpp"
#include "watch.hpp"

namespace {

using namespace railhead;

int refuse(const std::string& message) {
    static_cast<void>(write_all(STDERR_FILENO, "railhead-ckpt: " + message + "\n"));
    return 2;
}

int run(const std::string& part, const std::vector<std::string>& words) {
    if (part == "clock") {
        const auto options = helper::parse_clock_options(words);
        return options ? helper::run_clock(*options) : refuse(to_string(options.error()));
    }
    if (part == "watch") {
        return helper::watch(words);
    }
    return refuse("Slurm's plugin spank_railhead.so starts it: see spank_railhead(8)");
}

}  // namespace

int main(int count, char** values) {
    try {
        const std::vector<std::string> words{values + 1, values + count};
        return words.empty() ? run("", {}) : run(words.front(), {words.begin() + 1, words.end()});
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
}
