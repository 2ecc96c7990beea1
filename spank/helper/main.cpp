// railhead-ckpt: the program beside a job's steps, with the rights of the job's user.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "watch.hpp"

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> words{argv + 1, argv + argc};
        if (!words.empty() && words.front() == "watch") {
            return railhead::helper::watch({words.begin() + 1, words.end()});
        }
        std::fputs("railhead-ckpt: expected watch\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "railhead-ckpt: %s\n", error.what());
    }
    return 2;
}
