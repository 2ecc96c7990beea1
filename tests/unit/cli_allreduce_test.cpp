#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

using railhead::test::golden;
using railhead::test::Ran;
using railhead::test::TempDir;

namespace {

Ran allreduce(std::vector<std::string> words) {
    words.insert(words.begin(), "allreduce");
    return railhead::test::run(words);
}

struct Known {
    const char* name;
    std::vector<std::string> words;
};

/// A system of each kind.
std::vector<Known> all_known() {
    return {
        {"h100-4-nodes",
         {"--nodes", "4", "--accelerator", "h100", "--nic", "ndr", "--cpu", "intel"}},
        {"b200-1-node", {"--gpus", "8", "--accelerator", "b200", "--bytes", "64MiB"}},
        {"a100-70b",
         {"--gpus", "256", "--accelerator", "a100", "--nic", "200Gb/s", "--nics", "8", "--params",
          "70B"}},
        {"l40s-pcie", {"--gpus", "8", "--accelerator", "l40s"}},
        {"all-to-all",
         {"--nodes", "8", "--accelerator", "h200", "--nic", "efa-v3", "--collective",
          "all-to-all"}},
        {"ring-ll128",
         {"--nodes", "2", "--generation", "ampere", "--nvlink", "300GB/s", "--nic", "100Gb/s",
          "--nics", "4", "--net-latency", "75us", "--algo", "ring", "--proto", "ll128"}},
    };
}

}  // namespace

TEST_CASE("the curve of a collective and what would change it are told in 80 columns",
          "[collective][report][golden]") {
    for (const auto& [name, words] : all_known()) {
        CAPTURE(name);
        const auto ran = allreduce(words);
        CHECK(ran.err.empty());
        CHECK(ran.status == 0);
        for (const auto line : railhead::split(ran.out, '\n')) {
            CAPTURE(line);
            CHECK(railhead::report::columns(line) <= 80);
        }
        CHECK(ran.out == golden(std::string{"golden/allreduce/"} + name + ".txt", ran.out));
    }
}

TEST_CASE("a collective is told to programs", "[collective][report][golden]") {
    auto words = all_known()[0].words;
    words.emplace_back("--json");
    const auto ran = allreduce(words);
    CHECK(ran.status == 0);
    CHECK(nlohmann::json::parse(ran.out)["schema"] == "railhead.allreduce/1");
    CHECK(ran.out == golden("golden/allreduce/h100-4-nodes.json", ran.out));
}

TEST_CASE("a measured file stands beside the model, in the table and in the picture",
          "[collective][report][golden]") {
    const TempDir dir;
    const auto measured = dir.write(
        "measured.txt",
        "#  Rank  0 Group  0 Pid 1 on a device  0 [0000:8f:00] NVIDIA A100\n"
        "#  Rank  1 Group  0 Pid 2 on a device  1 [0000:90:00] NVIDIA A100\n"
        "1048576 262144 float sum -1 101.9 10.29 18.00 0 101.5 10.33 18.07 0\n"
        "1073741824 268435456 float sum -1 8203.9 130.88 229.04 2 8204.0 130.88 229.04 0\n");
    const auto ran = allreduce({"--gpus", "8", "--accelerator", "a100", "--measured", measured,
                                "--svg", dir.path("curve.svg")});
    CHECK(ran.err.empty());
    CHECK(ran.out == golden("golden/allreduce/measured.txt", ran.out));
    const auto picture = railhead::read_file(dir.path("curve.svg"));
    REQUIRE(picture);
    CHECK(*picture == golden("golden/allreduce/measured.svg", *picture));
}

TEST_CASE("a node has the GPUs and the NICs of the catalogue", "[collective]") {
    struct Case {
        const char* why;
        std::vector<std::string> words;
        std::uint64_t gpus, nics;
        double nic_gb_per_s;
    };
    const std::vector<Case> all{
        {"a tray of NVL72", {"--accelerator", "gb200", "--nic", "ndr"}, 4, 4, 50},
        {"a rack", {"--accelerator", "gb200", "--nic", "ndr", "--gpus-per-node", "72"}, 72, 72, 50},
        {"one GPU", {"--accelerator", "h100", "--nic", "ndr", "--gpus-per-node", "1"}, 1, 1, 50},
        {"ports of a few to a GPU", {"--accelerator", "h100", "--nic", "efa-v2"}, 8, 32, 12.5},
        {"PCIe of 31.5 GB/s bounds", {"--accelerator", "a100", "--nic", "ndr"}, 8, 8, 31.5},
        {"NICs that share the PCIe of a GPU",
         {"--accelerator", "h100", "--nic", "400Gb/s", "--nics", "8", "--gpus-per-node", "1"},
         1,
         8,
         63.0 / 8},
    };
    for (auto [why, words, gpus, nics, nic_gb_per_s] : all) {
        CAPTURE(why);
        words.insert(words.end(), {"--nodes", "2", "--json"});
        const auto ran = allreduce(words);
        REQUIRE(ran.status == 0);
        const auto system = nlohmann::json::parse(ran.out)["system"];
        CAPTURE(system.dump());
        CHECK(system["gpus_per_node"] == gpus);
        CHECK(system["nics_per_node"] == nics);
        CHECK(system["nic_bytes_per_s"].get<double>() == nic_gb_per_s * 1e9);
    }
}

TEST_CASE("what is wrong on the command line is told with what was meant", "[collective]") {
    struct Wrong {
        std::vector<std::string> words;
        const char* says;
    };
    const std::vector<std::string> fine{"--nodes", "2", "--accelerator", "h100", "--nic", "ndr"};
    const std::vector<Wrong> all{
        {{"--accelerator", "h10", "--gpus", "8"}, "did you mean"},
        {{"--accelerator", "mi300x", "--gpus", "8"}, "only NVIDIA's are modelled"},
        {{"--nodes", "2", "--accelerator", "h100", "--nic", "nrd"},
         "did you mean \"ndr\"?; or give its rate, as 400Gb/s"},
        {{"--gpus", "8", "--accelerator", "h100", "--generation", "volta"},
         "--accelerator excludes --generation"},
        {{"--gpus", "8", "--generation", "hoper"},
         "--generation \"hoper\": did you mean \"hopper\"?"},
        {{"--gpus", "8", "--accelerator", "h100", "--algo", "Rong"},
         "--algo \"Rong\": did you mean \"Ring\"?"},
        {{"--gpus", "8", "--accelerator", "h100", "--proto", "xyz"},
         "--proto \"xyz\": expected one of LL, LL128, Simple"},
        {{"--gpus", "8", "--accelerator", "h100", "--collective", "all_reduc"},
         "did you mean \"all_reduce\"?"},
        {{"--gpus", "8", "--accelerator", "h100", "--collective", "gather"},
         "gather is not modelled"},
        {{"--gpus", "8", "--accelerator", "h100", "--bytes", "12"}, "--bytes \"12\" is no size"},
        {{"--gpus", "8", "--accelerator", "h100", "--nvlink", "450", "--pcie", "63"},
         "over NVLink or over PCIe"},
        {{"--gpus", "12", "--gpus-per-node", "8", "--accelerator", "h100"},
         "12 GPUs are no whole number of nodes with 8"},
        {{"--nodes", "2", "--accelerator", "h100"}, "which NICs?"},
        {{"--nodes", "2", "--accelerator", "h100", "--nic", "400"},
         "--nic \"400\" is no rate with a unit: bits or bytes?"},
        {{"--accelerator", "h100"}, "how many GPUs?"},
        {{"--gpus", "8", "--accelerator", "h100", "--measured", "/no/such/file"}, "/no/such/file"},
    };
    for (const auto& [words, says] : all) {
        const auto ran = allreduce(words);
        CAPTURE(says, ran.out);
        CHECK(ran.status == 2);
        CHECK_THAT(ran.err, ContainsSubstring(says));
    }
    CHECK(allreduce(fine).status == 0);
}

TEST_CASE("a site's NIC is known by its name", "[collective]") {
    const TempDir folder;
    const auto site = folder.write("site.toml",
                                   "[[nic]]\nname = \"ours\"\nport_gbit_s = 800\nper_node = 4\n"
                                   "source = \"our vendor\"\n");
    const auto ran =
        allreduce({"--nodes", "2", "--accelerator", "h100", "--nic", "ours", "--catalog", site});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, ContainsSubstring("4 NICs of 100 GB/s a node"));
}

TEST_CASE("what is said of a network's latency holds for its steps too", "[collective]") {
    const auto step = [](std::vector<std::string> more) {
        std::vector<std::string> words{"--nodes", "2", "--accelerator", "h100", "--nic", "efa-v2"};
        words.insert(words.end(), more.begin(), more.end());
        const auto ran = allreduce(words);
        const auto at = ran.out.find("usable; ", ran.out.find("Between")) + 8;
        return ran.out.substr(at, ran.out.find('\n', at) - at);
    };
    CHECK(step({}) == "20 us a step");
    CHECK(step({"--net-latency", "100us"}) == "100 us a step");
}
