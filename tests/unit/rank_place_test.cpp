// The map of a task's GPUs, and which of them is that of a launcher's process.
#include "rank_place.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace cli = railhead::cli;

namespace {

const std::string map_text =
    R"([{"gpu":0,"visible":"4","index":4,"pci":"0000:9d:00.0","numa":0,"cpus":"0","memory":0,)"
    R"("memory_policy":"prefer","nic":"mlx5_6:1","path":"PXB"},)"
    R"({"gpu":1,"visible":"5","index":5,"cpus":"9000","nic":""}])";

using Environment = std::map<std::string, std::string, std::less<>>;

cli::Lookup lookup_in(const Environment& environment) {
    return [&environment](std::string_view name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional{found->second};
    };
}

std::string rank_in(const Environment& environment, const std::string& from = "") {
    const auto rank = cli::find_local_rank(from, lookup_in(environment));
    return rank ? rank->variable + " " + std::to_string(rank->rank) : rank.error().message;
}

railhead::Result<cli::LocalRank> rank_or_none(std::optional<unsigned> rank) {
    if (!rank) {
        return railhead::fail(railhead::Errc::not_found, "no local rank");
    }
    return cli::LocalRank{*rank, "LOCAL_RANK"};
}

std::vector<cli::GpuPlace> map_of(const std::string& text) {
    auto map = cli::parse_gpu_map(text);
    REQUIRE(map);
    return std::move(*map);
}

std::string place_of(const std::vector<cli::GpuPlace>& map, std::optional<unsigned> rank,
                     const cli::VisibleLists& visible) {
    const auto place = cli::find_place(map, rank_or_none(rank), visible);
    return place ? std::to_string(place->index) : place.error().message;
}

/// A map of these GPUs of the node, with or without their words.
std::vector<cli::GpuPlace> map_with(const std::vector<unsigned>& indices, bool words) {
    std::vector<cli::GpuPlace> map;
    for (const auto index : indices) {
        auto& place = map.emplace_back();
        place.index = index;
        place.visible = words ? std::to_string(index) : "";
    }
    return map;
}

}  // namespace

TEST_CASE("the local rank comes from the launcher's variable, in a fixed order", "[cli][exec]") {
    CHECK(rank_in({{"LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}) == "LOCAL_RANK 3");
    CHECK(rank_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"MPI_LOCALRANKID", "2"}}) ==
          "OMPI_COMM_WORLD_LOCAL_RANK 1");
    CHECK(rank_in({{"MPI_LOCALRANKID", "2"}, {"PMI_LOCAL_RANK", "5"}}) == "MPI_LOCALRANKID 2");
    CHECK(rank_in({{"PMI_LOCAL_RANK", "5"}}) == "PMI_LOCAL_RANK 5");
    CHECK(rank_in({{"LOCAL_RANK", "3"}, {"MINE", "6"}}, "MINE") == "MINE 6");
    CHECK(rank_in({{"LOCAL_RANK", "3"}}, "MINE") == "MINE is not set");
    CHECK(rank_in({{"LOCAL_RANK", "three"}}) == "LOCAL_RANK=three is no local rank");
    CHECK(rank_in({}) == "no local rank in the environment");
}

TEST_CASE("SLURM_LOCALID is a local rank only where the tasks are the ranks", "[cli][exec]") {
    const std::string id = "SLURM_LOCALID";
    const std::string binding = "RAILHEAD_BINDING";
    CHECK(rank_in({{id, "2"}, {binding, "none: 3 tasks share 8 GPUs unevenly"}}) ==
          "SLURM_LOCALID 2");
    // All processes of the task have the same number there.
    CHECK(rank_in({{id, "0"}, {binding, "none: it has all GPUs of the step"}}) ==
          "no local rank in the environment");
    CHECK(rank_in({{id, "1"}, {binding, "none: --cpu-bind was given"}}) ==
          "no local rank in the environment");
    CHECK(rank_in({{id, "1"}, {binding, "gpu"}}) == "no local rank in the environment");
    CHECK(rank_in({{id, "1"}}, id) == "SLURM_LOCALID 1");  // the user says so
}

TEST_CASE("a rank's place is that of the device it sees", "[cli][exec]") {
    struct Case {
        std::string why;
        std::optional<unsigned> rank;
        std::optional<std::string> visible;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nothing narrowed", 1, {}, "5"},
        {"the task's own list", 1, "4,5", "5"},
        {"a range", 1, "4-5", "5"},
        {"put in another order", 0, "5,4", "5"},
        {"narrowed to one: the rank does not count", 0, "5", "5"},
        {"narrowed to one, without a rank", {}, "5", "5"},
        {"a device that is not the task's", 0, "7", "GPU 7 is not one of the task's"},
        {"more ranks than GPUs", 2, {}, "local rank 2 is beyond the 2 GPUs that it sees"},
        {"more ranks than it sees", 2, "4,5", "local rank 2 is beyond the 2 GPUs that it sees"},
        {"no list", 0, "4,x", "\"4,x\" is no list of devices"},
        {"no rank", {}, "4,5", "no local rank"},
        {"no rank, no list", {}, {}, "no local rank"},
    }));
    CAPTURE(c.why);
    CHECK(place_of(map_of(map_text), c.rank, {c.visible}) == c.expected);
    CHECK(place_of(map_of(map_text), c.rank, {{}, c.visible}) == c.expected);
}

TEST_CASE("a launcher that narrows by HIP is understood", "[cli][exec]") {
    struct Case {
        std::string why;
        bool words;
        std::optional<unsigned> rank;
        std::optional<std::string> rocr, hip;
        std::string expected;
    };
    const std::string untold = "HIP_VISIBLE_DEVICES=";
    const auto c = GENERATE_COPY(values<Case>({
        {"narrowed to one", true, 3, "4,5,6,7", "2", "6"},
        {"narrowed to one, without a rank", true, {}, "4,5,6,7", "2", "6"},
        {"ROCR's in another order", true, {}, "7,6,5,4", "0", "7"},
        {"without ROCR's list", true, {}, {}, "1", "5"},
        {"put in another order", true, 0, "4,5,6,7", "3,2,1,0", "7"},
        {"ROCR's is one already", true, 3, "6", "2", "6"},
        {"beyond ROCR's", true, 0, "4,5,6,7", "4", "GPU 4 is not one of the task's"},
        {"a name", true, 0, "4,5,6,7", "GPU-1", "GPU GPU-1 is not one of the task's"},
        {"no list", true, 0, "4,5,6,7", "x", untold + "x does not tell which of the task's GPUs"},
        {"HIP's list of the task: the map is of that", false, 1, "4,5,6,7,0", "3,2,1,0", "5"},
        {"part of it, and the map may be of it", false, 1, "4,5,6,7", "1",
         untold + "1 does not tell which of the task's GPUs"},
    }));
    CAPTURE(c.why);
    CHECK(place_of(map_with({4, 5, 6, 7}, c.words), c.rank, {{}, c.rocr, c.hip}) == c.expected);
}

TEST_CASE("a list that gives no GPU is a wish", "[cli][exec]") {
    for (const std::string list : {"", "-1", "NoDevFiles", "none"}) {
        CAPTURE(list);
        CHECK(cli::find_empty_list({list}) == "CUDA_VISIBLE_DEVICES=" + list);
        CHECK(cli::find_empty_list({"0", list}) == "ROCR_VISIBLE_DEVICES=" + list);
        CHECK(cli::find_empty_list({{}, "0", list}) == "HIP_VISIBLE_DEVICES=" + list);
    }
    CHECK_FALSE(cli::find_empty_list({}));
    CHECK_FALSE(cli::find_empty_list({"0", "1", "x"}));
}

TEST_CASE("the first rank without a place is told where all see the same", "[cli][exec]") {
    const auto map = map_with({4, 5, 6, 7}, true);
    CHECK(cli::first_without_place(map, {}) == 4);
    CHECK(cli::first_without_place(map, {"4,5"}) == 2);
    CHECK(cli::first_without_place(map, {"4,1,2"}) == 1);
    CHECK(cli::first_without_place(map, {"4,x"}) == 0);
    CHECK_FALSE(cli::first_without_place(map, {"1"}));  // another process may have a good one
}

TEST_CASE("a readable rank is found beside one that is not", "[cli][exec]") {
    const auto find = [](const Environment& environment) {
        return cli::find_readable_rank(lookup_in(environment));
    };
    CHECK(find({{"LOCAL_RANK", "x3"}, {"PMI_LOCAL_RANK", "3"}}) == 3);
    CHECK(find({{"LOCAL_RANK", "2"}, {"PMI_LOCAL_RANK", "3"}}) == 2);
    CHECK_FALSE(find({{"LOCAL_RANK", "x3"}}));
    CHECK_FALSE(find({{"LOCAL_RANK", "x3"}, {"SLURM_LOCALID", "0"}}));  // of all in the task
}

TEST_CASE("what is no map is refused", "[cli][exec][errors]") {
    for (const std::string text : {"", "[]", "{}", "[1]", "[{}]", R"([{"index":-1}])",
                                   R"([{"index":0,"cpus":"x"}])", "[{"}) {
        CAPTURE(text);
        CHECK_FALSE(cli::parse_gpu_map(text));
    }
}

TEST_CASE("a member that the plugin does not write is refused, never cut", "[cli][exec][errors]") {
    const auto [key, value] = GENERATE(table<std::string, std::string>({
        {"index", "4294967296"},
        {"index", "1.5"},
        {"numa", "4294967296"},
        {"numa", "-1"},
        {"numa", "\"0\""},
        {"memory", "65536"},
        {"memory", "4294967296"},
        {"memory", "18446744073709551616"},
        {"memory_policy", "\"interleave\""},
        {"memory_policy", "1"},
        {"cpus", "0"},
        {"cpus", "\"0-70000\""},
        {"nic", "[]"},
        {"pci", "null"},
        {"path", "1"},
        {"visible", "4"},
    }));
    CAPTURE(key, value);
    const std::string extra = key == "index" ? "" : R"("index":0,)";
    const auto policy = key == "memory" ? R"(,"memory_policy":"bind")" : "";
    const auto map = cli::parse_gpu_map("[{" + extra + '"' + key + "\":" + value + policy + "}]");
    REQUIRE_FALSE(map);
    CHECK(map.error().message ==
          "RAILHEAD_GPU_MAP has a \"" + key + "\" that Railhead does not write");
}

TEST_CASE("a number of 32 bits is taken whole", "[cli][exec]") {
    const auto map = map_of(R"([{"index":4294967295,"numa":4294967295}])");
    CHECK(map[0].index == 4294967295);
    CHECK(map[0].numa == 4294967295);
}

TEST_CASE("of a list as long as the environment takes only the beginning is shown",
          "[cli][exec][errors]") {
    std::string list;
    while (list.size() < 126'000) {
        list += "0-1023,";
    }
    const auto map = map_with({4, 5, 6, 7}, true);
    for (const cli::VisibleLists& visible :
         {cli::VisibleLists{list}, cli::VisibleLists{{}, "4,5", list},
          cli::VisibleLists{"GPU-" + std::string(60'000, 'a')}}) {
        CHECK(place_of(map, 0, visible).size() < 150);
    }
}
