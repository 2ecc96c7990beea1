#include <cerrno>

#include "fakes/fake_verbs.hpp"
#include "node/verbs.hpp"
#include "support/catch.hpp"

namespace node = railhead::node;

TEST_CASE("a device that cannot be used says why", "[node][verbs]") {
    const auto [why, device, complaint] =
        GENERATE(table<std::string, fake_verbs::Device, std::string>({
            {"as it should be", {.name = "mlx5_0"}, ""},
            {"a container without /dev/infiniband",
             {.name = "mlx5_0", .open_error = ENOENT},
             "cannot be opened: No such file or directory"},
            {"the mode of /dev/infiniband/uverbs0",
             {.name = "mlx5_0", .open_error = EACCES},
             "cannot be opened: Permission denied"},
            {"its firmware died",
             {.name = "mlx5_0", .device_error = EIO},
             "does not answer: Input/output error"},
            {"one of its ports died",
             {.name = "mlx5_0", .port_error = ETIMEDOUT},
             "does not answer about port 1: Connection timed out"},
            {"fewer ports than sysfs shows", {.name = "mlx5_0", .ports = 0}, "has no port 1"},
        }));
    CAPTURE(why);
    fake_verbs::set_devices({device});

    const auto unusable = node::find_unusable_devices({{"mlx5_0", 1}});

    REQUIRE(unusable.size() == (complaint.empty() ? 0U : 1U));
    if (!unusable.empty()) {
        CHECK(unusable[0].nic == "mlx5_0");
        CHECK(unusable[0].why == complaint);
    }
    CHECK(fake_verbs::held() == 0);
}

TEST_CASE("a device that libibverbs does not know beside others is told", "[node][verbs]") {
    fake_verbs::set_devices({{.name = "mlx5_0"}});
    const auto unusable = node::find_unusable_devices({{"mlx5_0", 1}, {"irdma0", 1}});
    REQUIRE(unusable.size() == 1);
    CHECK(unusable[0].nic == "irdma0");
    CHECK(unusable[0].why == "is not known to libibverbs");
}

TEST_CASE("drivers that only containers bring along say nothing about devices", "[node][verbs]") {
    fake_verbs::set_devices({});
    const auto unusable = node::find_unusable_devices({{"mlx5_0", 1}, {"mlx5_1", 1}});
    REQUIRE(unusable.size() == 1);
    CHECK(unusable[0].nic.empty());
    CHECK(node::find_unusable_devices({}).empty());
}

TEST_CASE("where nothing can be listed, no device can be used", "[node][verbs]") {
    fake_verbs::set_devices({}, ENOSYS);
    const auto unusable = node::find_unusable_devices({{"mlx5_0", 1}, {"mlx5_1", 1}});
    REQUIRE(unusable.size() == 2);
    CHECK(unusable[1].why == "cannot be listed: Function not implemented");
}

TEST_CASE("one device that cannot be used does not hide another", "[node][verbs]") {
    fake_verbs::set_devices({{.name = "mlx5_0", .open_error = EACCES},
                             {.name = "mlx5_1"},
                             {.name = "mlx5_2", .device_error = EIO}});
    const auto unusable =
        node::find_unusable_devices({{"mlx5_0", 1}, {"mlx5_1", 1}, {"mlx5_2", 1}});
    REQUIRE(unusable.size() == 2);
    CHECK(unusable[0].nic == "mlx5_0");
    CHECK(unusable[1].nic == "mlx5_2");
    CHECK(fake_verbs::held() == 0);
}
