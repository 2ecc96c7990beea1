// Where does the time of a step go?  From the peak of the GPU down to the MFU that a run reaches,
// in bars that add up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnosis.hpp"

namespace railhead::diagnose {

struct Bar {
    std::string what;
    double share = 0;  ///< of the peak, which is as much of the step
    std::string from;  ///< the arithmetic, or the finding that it is from
};

struct Waterfall {
    double mfu = 0;         ///< of the last steps
    double mfu_of_all = 0;  ///< of the usual step of the whole run, as `railhead mfu` tells it
    std::string_view convention;  ///< that both are counted by
    std::vector<Bar> bars;        ///< add up to 1 - mfu; the last is what no evidence explains
    bool is_scaled = false;  ///< findings claim more than is lost: their bars were made smaller
};

/// At the peak, the step's FLOPs would take `mfu` of its time.  The bars are the rest: what no
/// matmul reaches, what is recomputed, what findings cost, and what stays unexplained.  Nothing
/// where no MFU is known.
[[nodiscard]] std::optional<Waterfall> make_waterfall(const Facts& facts,
                                                      const Diagnosis& diagnosis);

}  // namespace railhead::diagnose
