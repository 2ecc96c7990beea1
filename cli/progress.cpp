#include "progress.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

#include <fmt/format.h>

namespace railhead::cli {

Progress::Progress(Console& console, std::string what)
    : out_{console.err.rdbuf() == std::cerr.rdbuf() && ::isatty(STDERR_FILENO) == 1 ? &console.err
                                                                                    : nullptr},
      what_{std::move(what)} {}

Progress::~Progress() {
    if (out_ != nullptr && (percent_ != UINT64_MAX || !said_.empty())) {
        *out_ << "\r\033[K" << std::flush;
    }
}

void Progress::show(std::uint64_t done, std::uint64_t all) {
    const auto percent = all == 0 ? 100 : done * 100 / all;
    if (out_ != nullptr && percent != percent_) {
        percent_ = percent;
        *out_ << fmt::format("\r{} {:3} %", what_, percent) << std::flush;
    }
}

void Progress::say(const std::string& text) {
    if (out_ != nullptr && text != said_) {
        said_ = text;
        *out_ << "\r\033[K" << text << std::flush;
    }
}

}  // namespace railhead::cli
