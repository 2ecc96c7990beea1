#include "job/gpu_request.hpp"

#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"

using namespace railhead;

namespace {

/// "h100:8 any:2", for a short table.
std::string text_of(const job::GpuRequest& request) {
    std::string text;
    for (const auto& part : request.parts) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ",
                            part.type.empty() ? "any" : part.type, part.count);
    }
    return text;
}

struct Case {
    std::string why;
    std::string tres;
    std::string expected;
};

}  // namespace

TEST_CASE("every way that Slurm writes GPUs is read", "[gpu]") {
    const auto c = GENERATE(values<Case>({
        {"--gres, untyped", "gpu:8", "any:8"},
        {"--gres, typed", "gpu:h100:8", "h100:8"},
        {"job_desc up to 23.02", "gres:gpu:8", "any:8"},
        {"job_desc up to 23.02, typed", "gres:gpu:h100:8", "h100:8"},
        {"job_desc from 23.11 on", "gres/gpu:8", "any:8"},
        {"job_desc from 23.11 on, typed", "gres/gpu:h100:8", "h100:8"},
        {"TRES form", "gres/gpu=8", "any:8"},
        {"TRES form, typed", "gres/gpu:h100=8", "h100:8"},
        {"TRES form amid others", "billing=64,cpu=64,gres/gpu=8,mem=1T,node=1", "any:8"},
        {"no count is one", "gpu", "any:1"},
        {"no count is one, typed", "gpu:h100", "h100:1"},
        {"no count is one, with the prefix", "gres/gpu", "any:1"},
        {"several GRES", "nic:2,gpu:h100:8,license:x", "h100:8"},
        {"several types", "gpu:a100:2,gpu:h100:1", "a100:2 h100:1"},
        {"several, each with its prefix", "gres:gpu:a100:2,gres:gpu:h100:1", "a100:2 h100:1"},
        {"the same type twice: the last counts, as in slurmctld", "gpu:4,gpu:8", "any:8"},
        {"--gpus-per-node and --gres, as 22.05 sends them", "gres:gpu:8,gres:gpu:8", "any:8"},
        {"slurm.conf with sockets", "gpu:h100:8(S:0-1)", "h100:8"},
        {"commas in the socket list", "gpu:4(S:0,2),nic:1", "any:4"},
        {"GresUsed of scontrol", "gpu:h100:3(IDX:0-1,5)", "h100:3"},
        {"no_consume of slurm.conf", "gpu:h100:no_consume:4", "h100:4"},
        {"MIG type with dots and digits", "gpu:1g.10gb:2", "1g.10gb:2"},
        {"MIG type without a count", "gpu:1g.10gb", "1g.10gb:1"},
        {"a type that begins like a number", "gpu:80gb", "80gb:1"},
        {"suffix K is 1024", "gpu:2K", "any:2048"},
        {"suffix in lower case", "gpu:1m", "any:1048576"},
        {"zero asks for none", "gpu:0", ""},
        {"--gres=none", "none", ""},
        {"empty", "", ""},
        {"empty entries", ",,gpu:1,,", "any:1"},
        {"other resources only", "shard:4,mps:100", ""},
        {"a name that only begins with gpu", "gpumem:80", ""},
        {"blanks after the comma", "nic:1, gpu:2", "any:2"},
        {"what scontrol prints for nothing", "(null)", ""},
    }));
    CAPTURE(c.why, c.tres);

    const auto request = job::parse_gpus(c.tres);

    REQUIRE(request);
    CHECK(text_of(*request) == c.expected);
}

TEST_CASE("a GPU entry that Slurm would refuse is an error that quotes it", "[gpu][errors]") {
    const auto c = GENERATE(values<Case>({
        {"nothing after the colon", "gpu:", ""},
        {"nothing after the type", "gpu:h100:", ""},
        {"an empty type", "gpu::8", ""},
        {"a part too many", "gpu:a:b:c:1", ""},
        {"a negative count", "gpu:h100:-1", ""},
        {"a count with junk", "gpu:h100:8x", ""},
        {"a count beyond 64 bits", "gpu:h100:18446744073709551616", ""},
        {"a suffix that overflows", "gpu:h100:18446744073709551615K", ""},
        {"one bad among good ones", "nic:1,gpu:a100:1,gpu:", ""},
        {"TRES form without a count", "gres/gpu=", ""},
    }));
    CAPTURE(c.why, c.tres);

    const auto request = job::parse_gpus(c.tres);

    REQUIRE_FALSE(request);
    CHECK(request.error().code == Errc::bad_input);
    CHECK_THAT(request.error().message, ContainsSubstring("is not a GPU request"));
}

TEST_CASE("entries of one type add up in a node's Gres=", "[gpu]") {
    const auto gpus = job::parse_gpus("gpu:a100:4,gpu:a100:4,gpu:1", job::Repeated::add);

    CHECK(text_of(*gpus) == "a100:8 any:1");
}

TEST_CASE("the total adds all types and saturates", "[gpu]") {
    CHECK(job::parse_gpus("gpu:a100:2,gpu:h100:1")->total() == 3);
    CHECK(job::parse_gpus("")->total() == 0);
    CHECK(job::parse_gpus("gpu:a:18446744073709551615,gpu:b:2")->total() == 18446744073709551615U);
}

TEST_CASE("a type is told only when it is the only one", "[gpu]") {
    CHECK(job::parse_gpus("gpu:h100:8")->type() == "h100");
    CHECK(job::parse_gpus("gpu:h100:8,gpu:h100:1")->type() == "h100");
    CHECK(job::parse_gpus("gpu:8")->type().empty());
    CHECK(job::parse_gpus("gpu:h100:8,gpu:1")->type().empty());
    CHECK(job::parse_gpus("gpu:1,gpu:h100:8")->type().empty());
    CHECK(job::parse_gpus("gpu:h100:8,gpu:a100:8")->type().empty());
}

TEST_CASE("hostile resource strings are read or refused, quickly", "[gpu][hostile]") {
    const std::size_t size = 10U << 20U;
    CHECK(job::parse_gpus(std::string(size / 10, ',')));
    std::string types;
    std::string repeated;
    for (int i = 0; i < 100'000; ++i) {
        types += fmt::format("gpu:t{}:1,", i);
        repeated += "gpu:1,";
    }
    CHECK_FALSE(job::parse_gpus(types));
    CHECK(job::parse_gpus(repeated)->total() == 1);
    CHECK(job::parse_gpus(std::string(size, '(')));
    CHECK(job::parse_gpus(std::string(size / 10, '\0')));
    CHECK_FALSE(job::parse_gpus("gpu:" + std::string(size, ':')));
    CHECK(job::parse_gpus("gpu:" + std::string(size, 'x'))->total() == 1);
}
