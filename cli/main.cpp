#include <cstdio>
#include <exception>
#include <iostream>

#include "command.hpp"

int main(int argc, char** argv) {
    try {
        railhead::cli::Console console{std::cout, std::cerr};
        const int status = railhead::cli::run({argv + 1, argv + argc}, console);
        std::cout.flush();
        return std::cout ? status : static_cast<int>(railhead::cli::Exit::usage);  // disk full
    } catch (const std::exception& error) {
        std::fprintf(stderr, "railhead: %s\n", error.what());
    } catch (...) {
        std::fputs("railhead: unknown error\n", stderr);
    }
    return railhead::cli::Exit::usage;
}
