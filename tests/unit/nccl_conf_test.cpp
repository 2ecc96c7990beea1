#include "rails/nccl_conf.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace rails = railhead::rails;

namespace {

std::vector<std::string> lines(const std::vector<rails::Setting>& settings) {
    std::vector<std::string> all;
    for (const auto& [name, value] : settings) {
        all.push_back(name + "=" + value);
    }
    return all;
}

}  // namespace

TEST_CASE("a file of NCCL's sets the names before the equals signs", "[rails][nccl_conf]") {
    CHECK(lines(rails::parse_nccl_conf("# comment\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"
                                 "#NCCL_ALGO=ring\nNCCL_DEBUG=WARN\n no value\n=x\n"
                                 "NCCL_SOCKET_IFNAME = eth0\r\n")) ==
          std::vector<std::string>{"NCCL_IB_HCA==mlx5_0,mlx5_1", "NCCL_DEBUG=WARN",
                                   "NCCL_SOCKET_IFNAME=eth0"});
}

TEST_CASE("no file sets nothing; a pipe, a folder or a huge file is an error",
          "[rails][nccl_conf]") {
    const railhead::test::TempDir folder;
    CHECK(rails::read_nccl_conf(folder.path("absent"))->empty());
    CHECK_FALSE(rails::read_nccl_conf(folder.path()));
    folder.write("huge", std::string(rails::nccl_conf_limit + 1, 'x'));
    CHECK_FALSE(rails::read_nccl_conf(folder.path("huge")));
    folder.write("nccl.conf", "NCCL_IB_HCA=mlx5_0\n");
    CHECK(lines(*rails::read_nccl_conf(folder.path("nccl.conf"))) ==
          std::vector<std::string>{"NCCL_IB_HCA=mlx5_0"});
}
