#include <sstream>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/temp_dir.hpp"

namespace {

struct Ran {
    int status;
    std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    railhead::cli::Console console{out, err};
    const int status = railhead::cli::run(arguments, console);
    return {status, out.str(), err.str()};
}

}  // namespace

TEST_CASE("railhead rails shows a recorded node", "[cli][rails]") {
    const auto file = railhead::test::node_file("dgx-h100.xml");
    const auto text = run({"rails", "--hwloc-xml", file});
    CHECK(text.status == 0);
    CHECK_THAT(text.out, ContainsSubstring("\n4    0000:9d:00.0  1     32-39  PXB   mlx5_6:1\n"));
    CHECK(text.err.empty());

    const auto json = nlohmann::json::parse(run({"rails", "--json", "--hwloc-xml", file}).out);
    CHECK(json["schema"] == "railhead.rails/1");
    CHECK(json["gpus"].size() == 8);
}

TEST_CASE("a recorded node is not mixed up with this machine", "[cli][rails]") {
    const railhead::test::TempDir home;
    home.write(".nccl.conf", "NCCL_IB_HCA=mine\n");
    const railhead::test::ScopedVariable variable_home{"HOME", home.path()};
    const railhead::test::ScopedVariable own{"UCX_NET_DEVICES", "mine"};
    const auto recorded =
        run({"rails", "--hwloc-xml", railhead::test::node_file("two-cpu-8gpu.xml")});
    CHECK_THAT(recorded.out, ContainsSubstring("NCCL_IB_HCA      =mlx5_0:1,"));
    CHECK_THAT(recorded.out, !ContainsSubstring("left to"));
}

TEST_CASE("input that cannot be read is exit status 2 and one line", "[cli][rails][errors]") {
    const railhead::test::TempDir folder;
    for (const auto& file :
         {folder.path("absent"), folder.path(), folder.write("bad.xml", "not XML\n")}) {
        CAPTURE(file);
        const auto ran = run({"rails", "--hwloc-xml", file});
        CHECK(ran.status == 2);
        CHECK(ran.out.empty());
        CHECK(ran.err.starts_with("railhead: "));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
    }
}

TEST_CASE("railhead rails looks at this machine", "[cli][rails]") {
    const auto live = run({"rails"});
    CHECK(live.status == 0);
    CHECK(live.out.starts_with("Node   live\n"));
}
