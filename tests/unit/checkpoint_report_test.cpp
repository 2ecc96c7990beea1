#include "report/checkpoint.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/questions.hpp"

namespace checkpoint = railhead::checkpoint;
namespace report = railhead::report;
using checkpoint::Question;
using railhead::test::daly;
using railhead::test::golden;

namespace {

/// A job of 1024 GPUs of which the size of the model, the store and the user's habit are known.
Question large() {
    Question question;
    question.gpus = 1024;
    question.params = 70e9;
    question.bytes_per_s = 5e9;
    question.time_limit_s = 7 * 86400.0;
    question.step_s = 12;
    question.own_interval_s = 4 * 3600.0;
    return question;
}

/// The same with a stall, copies in memory and failures that were counted.
Question measured() {
    auto question = large();
    question.cost_s = 6;
    question.memory_cost_s = 2;
    question.process_share = 0.7;
    question.failures = 9;
    question.observed_s = 30 * 86400.0;
    return question;
}

/// More checkpoints and failures than training.
Question hopeless() {
    auto question = daly();
    question.mtbf_s = 200;
    question.own_interval_s = 86400;
    return question;
}

struct Known {
    const char* name;
    Question (*question)();
};

checkpoint::Recommendation answer(const Question& question) {
    return checkpoint::recommend(question).value();
}

}  // namespace

TEST_CASE("an interval of one step is told as one", "[checkpoint][report]") {
    auto question = large();
    question.step_s = GENERATE(3600.0, 1e5);
    question.own_interval_s = 1e5;
    const auto text = report::checkpoint_text(answer(question));
    CHECK((text.find(", 1 step") != std::string::npos) == (question.step_s > 3600));
    CHECK(text.find(", 1 steps") == std::string::npos);
}

TEST_CASE("an interval that is rounded to steps says so, and how far off it is",
          "[checkpoint][report]") {
    auto question = large();
    question.own_interval_s.reset();
    const auto why = [&](std::optional<double> step_s) {
        question.step_s = step_s;
        auto text = report::checkpoint_text(answer(question));
        text.resize(text.find("Loss"));
        std::string words;
        for (const auto word : railhead::split_words(text)) {
            words += std::string{railhead::trim(word)} + " ";
        }
        return words.substr(words.find(": ") + 2);
    };
    CHECK(why(std::nullopt) == "the least is lost (Daly) ");
    CHECK(why(1.0) == "the least is lost (Daly), rounded to whole steps ");
    CHECK(why(5000.0) ==
          "rounded to whole steps, though the least would be lost at 104.2 min (Daly) ");
    CHECK(why(20'000.0) == "one step, though the least would be lost at 104.2 min (Daly) ");
}

TEST_CASE("recommendations look as we reviewed them", "[checkpoint][report][golden]") {
    const auto known = GENERATE(values<Known>(
        {{"daly", daly}, {"large", large}, {"measured", measured}, {"hopeless", hopeless}}));
    CAPTURE(known.name);
    const auto about = answer(known.question());
    const auto file = std::string{"golden/ckpt/"} + known.name;
    const auto text = report::checkpoint_text(about);
    const auto json = report::checkpoint_json(about);
    const auto svg = report::checkpoint_svg(about);
    CHECK(text == golden(file + ".txt", text));
    CHECK(json == golden(file + ".json", json));
    CHECK(svg == golden(file + ".svg", svg));
    for (const auto line : railhead::split(text, '\n')) {
        CAPTURE(line);
        CHECK(report::columns(line) <= 80);
    }
}

TEST_CASE("a simulation looks as we reviewed it", "[checkpoint][report][golden]") {
    const auto about = answer(large());
    checkpoint::TrialSetup setup;
    setup.chosen_s = about.chosen.interval_s;
    setup.own_s = about.own->interval_s;
    setup.duration_s = about.span_s;
    setup.runs = 300;
    setup.shape = 0.63;
    auto trials = checkpoint::Trials::make(about.timing, setup).value();
    while (trials.step()) {
    }
    const auto text = report::checkpoint_text(about, &trials);
    CHECK(text == golden("golden/ckpt/simulated.txt", text));
    CHECK_THAT(report::checkpoint_json(about, &trials), ContainsSubstring("\"runs\": 300"));
}

TEST_CASE("the picture has a line for each interval, and none for one that is not there",
          "[checkpoint][report][svg]") {
    const auto with = report::checkpoint_svg(answer(large()));
    for (const auto* name :
         {"Young 1974: ", "Daly 2006: ", "exact optimum: ", "chosen: ", "yours: 4 h, "}) {
        CAPTURE(name);
        CHECK_THAT(with, ContainsSubstring(name));
    }
    CHECK(report::checkpoint_svg(answer(daly())).find("yours") == std::string::npos);
}

TEST_CASE("the picture holds for intervals of any length", "[checkpoint][report][svg]") {
    for (const auto own_s : {0.01, 1e9}) {
        auto question = daly();
        question.own_interval_s = own_s;
        const auto svg = report::checkpoint_svg(answer(question));
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
        CHECK_THAT(svg, ContainsSubstring("100 %"));
    }
}

TEST_CASE("quantities are told with the digits that mean something", "[report]") {
    CHECK(report::time_text(0.0456) == "0.046 s");
    CHECK(report::time_text(6.3) == "6.3 s");
    CHECK(report::time_text(7001.4) == "116.7 min");
    CHECK(report::time_text(300) == "5 min");
    CHECK(report::time_text(28.8 * 3600) == "28.8 h");
    CHECK(report::time_text(47.7 * 86400) == "47.7 d");
    CHECK(report::time_text(1e9) == "31.7 years");
    CHECK(report::time_text(INFINITY) == "never");
    CHECK(report::bytes_text(912e9) == "912 GB");
    CHECK(report::bytes_text(5.29e12) == "5.29 TB");
    CHECK(report::bytes_text(1) == "1 B");
    CHECK(report::bandwidth_text(152.1e6) == "152 MB/s");
    CHECK(report::share_text(0.0842) == "8.42 %");
    CHECK(report::share_text(1) == "100 %");
    CHECK(report::share_text(0) == "0 %");
    CHECK(report::share_text(1e-9) == "under 0.01 %");
    CHECK(report::count_text(432.4) == "432");
    CHECK(report::count_text(5.833) == "5.83");
    CHECK(report::large_text(999.4) == "999");
    CHECK(report::large_text(999.6) == "1 k");
    CHECK(report::large_text(39862.2) == "39.9 k");
    CHECK(report::large_text(1.2e6) == "1.2 M");
    CHECK(report::large_text(999.9e6) == "1 B");
    CHECK(report::large_text(15.6e15) == "15600 T");
    CHECK(report::power_text(10200) == "10.2 kW");
    CHECK(report::power_text(1.47e6) == "1.47 MW");
    CHECK(report::energy_text(441e6) == "441 MWh");
}
