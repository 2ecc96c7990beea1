// Facts and diagnoses from texts.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/intake.hpp"
#include "training/catalogue.hpp"

namespace railhead::test {

/// The facts of files with these texts, named "0", "1", ...
inline diagnose::Facts facts_of(const std::vector<std::string>& texts,
                                const diagnose::Given& given = {}) {
    diagnose::Intake intake{given};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        intake.begin_file(std::to_string(i));
        intake.feed(texts[i]);
        intake.end_file();
    }
    return intake.take();
}

/// The rule of this name; throws where there is none.
inline diagnose::Rule rule_of(std::string_view id) {
    for (const auto& rule : diagnose::all_rules()) {
        if (rule.id == id) {
            return rule;
        }
    }
    throw std::logic_error{"no rule " + std::string{id}};
}

inline diagnose::Finding ask(std::string_view id, const diagnose::Facts& facts) {
    return rule_of(id).check(facts);
}

/// What was said of A100s with eight HDR NICs a node.
inline diagnose::Given a100s(std::uint64_t gpus) {
    const auto& catalogue = training::built_in_catalogue();
    diagnose::Given given;
    given.hardware.accelerator = *training::find_accelerator(catalogue, "a100");
    given.hardware.nic = *training::find_nic(catalogue, "hdr");
    given.hardware.nics_per_node = 8;
    given.hardware.gpus = gpus;
    given.mfu.accelerator = given.hardware.accelerator;
    given.mfu.gpus = static_cast<double>(gpus);
    return given;
}

}  // namespace railhead::test
