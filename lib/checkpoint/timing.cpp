#include "checkpoint/timing.hpp"

#include <string_view>

#include <fmt/format.h>

namespace railhead::checkpoint {

namespace {

/// Also false for what is no number.
bool lies_in(double value, double least, double most) {
    return value >= least && value <= most;
}

tl::unexpected<Error> refuse(std::string_view what, double value_s, double least_s) {
    return fail(Errc::bad_input, fmt::format("{} of {:g} s: it has to be between {:g} and {:g} s",
                                             what, value_s, least_s, Timing::most_s));
}

}  // namespace

Result<Timing> Timing::make(const TimingFacts& facts) {
    if (!lies_in(facts.mtbf_s, least_s, most_s)) {
        return refuse("an MTBF", facts.mtbf_s, least_s);
    }
    if (!lies_in(facts.cost_s, least_s, most_s)) {
        return refuse("a checkpoint cost", facts.cost_s, least_s);
    }
    if (!lies_in(facts.restart_s, 0, most_s)) {
        return refuse("a restart time", facts.restart_s, 0);
    }
    if (!lies_in(facts.background_s, 0, most_s)) {
        return refuse("a write in the background", facts.background_s, 0);
    }
    return Timing{facts};
}

}  // namespace railhead::checkpoint
