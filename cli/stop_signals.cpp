#include "stop_signals.hpp"

namespace railhead::cli {

namespace {

volatile std::sig_atomic_t stopped = 0;

extern "C" void note_signal(int /*number*/) {
    stopped = 1;
}

}  // namespace

StopSignals::StopSignals() {
    stopped = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
}

StopSignals::~StopSignals() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
}

bool StopSignals::seen() {
    return stopped != 0;
}

}  // namespace railhead::cli
