// The page of railhead report, up to the browser: what is in its data, and that none of it is
// markup.  tests/page looks at it in a browser.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "diagnose/modelled.hpp"
#include "fabric/placed.hpp"
#include "report/page.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/diagnoses.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"
#include "support/training_logs.hpp"

namespace diagnose = railhead::diagnose;
namespace fabric = railhead::fabric;
namespace report = railhead::report;
using nlohmann::ordered_json;
using railhead::Errc;
using railhead::test::TempDir;

namespace {

constexpr std::string_view topology =
    "SwitchName=l1 Nodes=n[1-3]\n"
    "SwitchName=l2 Nodes=n[4-5]\n"
    "SwitchName=l3 Nodes=n6\n"
    "SwitchName=top Switches=l[1-3]\n";

fabric::Fabric tree() {
    auto read = fabric::parse_topology_conf(topology, "topology.conf");
    REQUIRE(read);
    return *read;
}

/// all_reduce_perf of as many H100s; the bus bandwidth is `factor` times size over time.
std::string table(int ranks, int hosts, double factor, const char* gpu = "NVIDIA H100 80GB HBM3") {
    std::string text = "# Using devices\n";
    for (int rank = 0; rank < ranks; ++rank) {
        text += "#  Rank " + std::to_string(rank) + " Group 0 Pid 5000 on n" +
                std::to_string(rank * hosts / ranks + 1) + " device 0 [0x1b] " + gpu + "\n";
    }
    // 1 GiB in 5368.7 us is 200 GB/s.
    const auto busbw = std::to_string(200 * factor);
    return text + "1073741824 268435456 float sum -1 5368.7 200.00 " + busbw + " 0 5368.7 200.00 " +
           busbw + " 0\n";
}

diagnose::BandwidthFacts measured(const std::string& text) {
    auto facts = railhead::test::facts_of({text});
    REQUIRE(facts.bandwidth.size() == 1);
    return std::move(facts.bandwidth.front());
}

diagnose::Hardware hardware(const char* accelerator, const char* nic) {
    const auto& catalogue = railhead::training::built_in_catalogue();
    diagnose::Hardware known;
    if (accelerator != nullptr) {
        known.accelerator = *railhead::training::find_accelerator(catalogue, accelerator);
    }
    if (nic != nullptr) {
        known.nic = *railhead::training::find_nic(catalogue, nic);
        known.nics_per_node = 8;
    }
    return known;
}

std::string nccl_lines() {
    std::string text;
    for (int rank = 0; rank < 4; ++rank) {
        if (rank == 2) {
            continue;  // it says nothing
        }
        const auto gpu = std::to_string(rank % 2);
        const auto start = "n" + std::to_string(rank / 2 + 3) + ".cluster:400" + gpu + ":410" +
                           gpu + " [" + gpu + "] ";
        text += start + "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n";
        text += start + "NCCL INFO Channel 00/0 : " + std::to_string(rank) + "[" + gpu + "] -> " +
                std::to_string((rank + 2) % 4) + "[" + gpu + "] [send] via NET/IB/0/GDRDMA\n";
        text += start + "NCCL INFO ncclCommInitRank comm 0x5 rank " + std::to_string(rank) +
                " nranks 4 cudaDev " + gpu + " nvmlDev " + gpu +
                " busId 1000 commId 0xa - Init COMPLETE\n";
    }
    return text +
           "\nn4.cluster:4001:4101 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion "
           "from peer 10.0.0.1<4> with status=12 opcode=0 len=0 vendor err 129 (Recv) "
           "</script>&<!--\xe2\x80\xa8\n";
}

/// A page of a small run, with what it points to.
struct Small {
    std::vector<diagnose::Rule> rules = diagnose::all_rules();
    diagnose::Facts facts;
    report::DiagnosisReport about;
    report::Page page;

    Small() {
        std::string steps;
        for (int i = 1; i <= 6; ++i) {
            steps += railhead::test::megatron_line(i, 1000 + i, 3.0 / i);
        }
        facts = railhead::test::facts_of({nccl_lines(), steps, table(16, 2, 1.875)});
        facts.hardware = hardware("h100", "ndr");
        about.facts = &facts;
        about.diagnosis = diagnose::diagnose(facts, rules);
        page.report = &about;
        page.tables.push_back({&facts.bandwidth.front(),
                               diagnose::model_of(facts.bandwidth.front(), facts.hardware)});
        const auto network = tree();
        page.placed = fabric::place_nodes(&network, report::hosts_of(facts));
        page.topology = "topology.conf";
        page.title = "<b>a & b</b>";
        page.made_by = "railhead";
    }
    Small(const Small&) = delete;
    Small& operator=(const Small&) = delete;
};

std::size_t times(std::string_view text, std::string_view word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

TEST_CASE("a job's nodes are found on their leaves", "[page]") {
    struct Case {
        const char* why;
        std::vector<std::string> job;
        std::uint32_t span, least, off;
    };
    const auto c = GENERATE(values<Case>({
        {"all of the largest leaf", {"n1", "n2", "n3"}, 1, 1, 0},
        {"three nodes that one leaf could hold", {"n3", "n4", "n6"}, 3, 1, 0},
        {"more than a leaf holds", {"n1", "n2", "n3", "n4"}, 2, 2, 0},
        {"hosts with a domain", {"n1.cluster", "n6.cluster"}, 2, 1, 0},
        {"named twice", {"n1", "n1"}, 1, 1, 0},
        {"one that the topology does not have", {"n1", "login"}, 1, 0, 1},
        {"no nodes", {}, 0, 0, 0},
    }));
    CAPTURE(c.why);
    const auto network = tree();

    const auto placed = fabric::place_nodes(&network, c.job);

    CHECK(placed.span == c.span);
    CHECK(placed.least == c.least);
    CHECK(placed.off_fabric == c.off);
    CHECK(placed.nodes.size() == 6 + c.off);
    CHECK(placed.leaves == std::vector<std::string>{"l1", "l2", "l3"});
}

TEST_CASE("without a topology nodes have no leaf", "[page]") {
    const std::vector<std::string> job{"a", "b", "a"};

    const auto placed = fabric::place_nodes(nullptr, job);

    REQUIRE(placed.nodes.size() == 2);
    CHECK(placed.nodes[1].name == "b");
    CHECK(placed.nodes[1].leaf == fabric::no_leaf);
    CHECK(placed.job_nodes == 2);
    CHECK(placed.span == 0);
}

TEST_CASE("a table of an all-reduce gets the model of its own system", "[page]") {
    const auto answer = diagnose::model_of(measured(table(16, 2, 1.875)), hardware(nullptr, "ndr"));

    REQUIRE(answer);
    CHECK(answer->model.system().nodes == 2);
    CHECK(answer->model.system().gpus_per_node == 8);
    CHECK(answer->model.system().nics_per_node == 8);
    CHECK(answer->model.system().generation == fabric::Generation::hopper);
    REQUIRE(answer->compared.size() == 1);
    CHECK(answer->compared[0].measured.time_us == 5368.7);
}

TEST_CASE("what cannot be modelled says what is missing", "[page]") {
    struct Case {
        const char* why;
        std::string text;
        const char *accelerator, *nic;
        Errc code;
        const char* says;
    };
    const auto c = GENERATE(values<Case>({
        {"15/16: an all-gather", table(16, 2, 0.9375), nullptr, "ndr", Errc::unsupported,
         "another collective"},
        {"no network was said", table(16, 2, 1.875), nullptr, nullptr, Errc::bad_input, "--nic"},
        {"no header", table(0, 1, 1.875), "h100", "ndr", Errc::bad_input, "--gpus"},
        {"a GPU that the catalogue does not have", table(8, 1, 1.75, "NVIDIA Nonesuch"), nullptr,
         nullptr, Errc::bad_input, "--accelerator"},
        {"5 ranks on 2 nodes", table(5, 2, 1.6), nullptr, "ndr", Errc::unsupported,
         "not as many on each"},
    }));
    CAPTURE(c.why);

    const auto answer = diagnose::model_of(measured(c.text), hardware(c.accelerator, c.nic));

    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == c.code);
    CHECK_THAT(answer.error().message, ContainsSubstring(c.says));
}

TEST_CASE("the data of a page are columns of what the files say", "[page][golden]") {
    const Small small;

    auto data = ordered_json::parse(report::page_data(small.page));
    const auto diagnosis = ordered_json::parse(report::diagnosis_json(small.about));
    CHECK(data["diagnosis"] == diagnosis);
    data.erase("diagnosis");  // it has its own tests
    auto& model = data["tables"][0]["model"];
    CHECK(model["curve"].size() == 25);  // 1 KiB to 16 GiB
    model.erase("curve");
    model.erase("notes");
    const auto text = data.dump(1) + "\n";

    CHECK(text == railhead::test::golden("golden/report/page.json", text));
}

TEST_CASE("nothing in the data of a page is markup", "[page]") {
    const Small small;

    const auto data = report::page_data(small.page);

    CHECK(std::ranges::all_of(data, [](char one) { return one >= ' ' && one <= '~'; }));
    CHECK(data.find_first_of("<>&") == std::string::npos);
    const auto ranks = ordered_json::parse(data)["ranks"];
    const auto warning = ranks["warnings"][0]["text"].get<std::string>();
    CHECK_THAT(warning, ContainsSubstring("(Recv) </script>&<!--"));
}

TEST_CASE("a page is one file with three scripts, each allowed by its hash or no script",
          "[page]") {
    if (!report::has_pages()) {
        SKIP("built with RAILHEAD_REPORT=OFF");
    }
    const Small small;

    const auto html = report::page_html(small.page);

    CHECK(times(html, "<script") == 3);
    CHECK(times(html, "</script>") == 3);
    CHECK(times(html, "<style>") == 1);
    CHECK(times(html, "'sha256-") == 3);
    CHECK(times(html, "<title>&lt;b&gt;a &amp; b&lt;/b&gt;</title>") == 1);
    CHECK(times(html, " src=") == 0);
    CHECK(times(html, "<link") == 0);
    CHECK(times(html, "Copyright (c) 2022 Leon Sorokin") == 1);
}

TEST_CASE("railhead report says what it needs", "[page][cli]") {
    if (!report::has_pages()) {
        SKIP("built with RAILHEAD_REPORT=OFF");
    }
    const TempDir folder;
    const auto log = folder.write("nccl.log", nccl_lines());
    const auto page = folder.path("page.html");
    struct Case {
        const char* why;
        std::vector<std::string> words;
        const char* says;
    };
    const std::vector<Case> cases{
        {"no output", {log}, "--output"},
        {"a topology that is not there",
         {log, "-o", page, "--topology", folder.path("none")},
         "none"},
        {"a file that is no topology", {log, "-o", page, "--topology", log}, "nccl.log"},
        {"a name for a topology that is not said",
         {log, "-o", page, "--topology-name", "x"},
         "--topology"},
        {"no node list", {log, "-o", page, "--nodes", "n[1"}, "--nodes: "},
        {"a folder that is not there", {log, "-o", page + "/x"}, "cannot write"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.why);
        auto words = c.words;
        words.insert(words.begin(), "report");

        const auto ran = railhead::test::run(words);

        CHECK(ran.status == railhead::cli::Exit::usage);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, ContainsSubstring(c.says));
    }
}

TEST_CASE("railhead report leaves the page and the verdict of railhead diagnose", "[page][cli]") {
    if (!report::has_pages()) {
        SKIP("built with RAILHEAD_REPORT=OFF");
    }
    const TempDir folder;
    const auto log = folder.write("nccl.log", nccl_lines());
    const auto conf = folder.write("topology.conf", std::string{topology});
    const auto page = folder.path("page.html");

    const auto ran = railhead::test::run({"report", log, "-o", page, "--topology", conf});
    const auto shown = railhead::test::run({"report", log, "-o", "-", "--topology", conf});
    const auto said = railhead::test::run({"diagnose", log});

    CHECK(ran.status == said.status);
    CHECK(ran.status == 1);
    CHECK_THAT(ran.out, ContainsSubstring("page.html: ") && ContainsSubstring(" finding"));
    const auto html = railhead::read_file(page);
    REQUIRE(html);
    CHECK(*html == shown.out);
    CHECK_THAT(*html, ContainsSubstring(R"("span":2,"least":1,"job_nodes":2)"));
}
