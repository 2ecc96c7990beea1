// Ctrl-C ends waiting, not the program: what was seen until then is still told.
#pragma once

#include <csignal>

namespace railhead::cli {

/// While it lives SIGINT and SIGTERM are noted.  One at a time.
class StopSignals {
 public:
    StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals();
    [[nodiscard]] static bool seen();

 private:
    struct sigaction interrupt_ {
    }, terminate_{};
};

}  // namespace railhead::cli
