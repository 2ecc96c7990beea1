#include "report/explain_words.hpp"

#include <fmt/format.h>

#include "checkpoint/wish.hpp"

namespace railhead::report {

using policy::NoteKind;

std::string_view kind_word(const policy::Note& note) {
    switch (note.kind) {
        case NoteKind::change:
        case NoteKind::quiet:
            return to_string(note.mode);
        case NoteKind::advice:
            return "advice";
        case NoteKind::info:
            return "left";
    }
    return "?";
}

std::string source_text(const policy::Wait& wait) {
    using policy::PriceFrom;
    const auto& written = wait.price.by_level;
    switch (wait.price.from) {
        case PriceFrom::guess:
            return "a guess: the policy gives no slowdown";
        case PriceFrom::slowdown:
            return "slowdown of the policy";
        case PriceFrom::bus_bandwidth:
            return fmt::format("bus_bandwidth of {} and {} GB/s, {} communication", written[0],
                               written[1], policy::percent_text(wait.communication));
        case PriceFrom::oversubscription:
            return fmt::format("oversubscription of {}, {} communication", written[0],
                               policy::percent_text(wait.communication));
        case PriceFrom::wait:
            return "wait of the policy";
        case PriceFrom::user:
            return "your own";
    }
    return "?";
}

std::string signal_text(const policy::Warning& warning) {
    return fmt::format("{}{}@{}", warning.batch ? "B:" : "",
                       checkpoint::signal_name(warning.signal), warning.seconds);
}

}  // namespace railhead::report
