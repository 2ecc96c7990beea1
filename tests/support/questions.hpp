// Questions about checkpoints, for tests.
#pragma once

#include "checkpoint/question.hpp"

namespace railhead::test {

/// Daly's example: a cost of 5 min and an MTBF of a day.
inline checkpoint::Question daly() {
    checkpoint::Question question;
    question.cost_s = 300;
    question.mtbf_s = 86400;
    return question;
}

}  // namespace railhead::test
