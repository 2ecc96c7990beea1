// The policies that are shipped as examples.  They cannot rot: this reads them all.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "policy/parse.hpp"
#include "policy/policy.hpp"
#include "support/catch.hpp"

namespace {

using namespace railhead;

const std::string folder = RAILHEAD_CHECKOUT "/config";

std::vector<std::string> shipped_policies() {
    std::vector<std::string> paths;
    for (const auto& where : {folder, folder + "/examples"}) {
        for (const auto& entry : std::filesystem::directory_iterator{where}) {
            if (entry.path().extension() == ".toml") {
                paths.push_back(entry.path().string());
            }
        }
    }
    std::ranges::sort(paths);
    return paths;
}

std::string text_of(const std::string& path) {
    const auto text = read_file(path);
    REQUIRE(text);
    return *text;
}

std::string errors_of(const std::string& text, const std::string& path) {
    const auto policy = policy::parse_policy(text, path);
    std::string errors;
    if (!policy) {
        for (const auto& error : policy.error()) {
            errors += to_string(error) + "\n";
        }
    }
    return errors;
}

/// The text with its "#key" and "#[table]" lines made live; prose has a blank after the "#", and
/// a key that cannot stand beside another two of them.
std::string uncommented(const std::string& text) {
    std::string out;
    for (const auto line : split(text, '\n')) {
        const bool key = line.size() > 1 && line[0] == '#' && line[1] != ' ' && line[1] != '#';
        out += std::string{line.substr(key ? 1 : 0)} + "\n";
    }
    return out;
}

}  // namespace

TEST_CASE("every policy that is shipped is right", "[config]") {
    const auto paths = shipped_policies();
    REQUIRE(paths.size() >= 4);
    for (const auto& path : paths) {
        CAPTURE(path);
        CHECK(errors_of(text_of(path), path).empty());
    }
}

TEST_CASE("the policy that is installed observes and changes nothing", "[config]") {
    const auto path = folder + "/railhead.toml";
    const auto policy = policy::parse_policy(text_of(path), path);
    REQUIRE(policy);
    policy::Settings settings;
    policy::apply(policy->global, settings);
    CHECK(settings.gang.mode == policy::Mode::observe);
    CHECK(settings.placement.mode == policy::Mode::observe);
    CHECK(settings.checkpoint.mode == policy::Mode::observe);
    CHECK(policy->partitions.empty());
    CHECK(policy->rules.empty());
}

TEST_CASE("the commented policy shows every key, and each example of a key is right", "[config]") {
    const auto path = folder + "/railhead.toml";
    const auto text = uncommented(text_of(path));
    CHECK(errors_of(text, path).empty());
    for (const std::string key :
         {"enabled", "mode", "notes", "user_off", "slurm_conf", "topology", "exclusive", "partial",
          "isolation_note", "sockets_note", "gpus_per_node", "override", "slowdown", "communication", "run_time",
          "wait_least", "wait_most", "below_leaf", "set_aside", "model_parallel_group", "file", "min_nodes", "name",
          "nodes", "rails", "nccl_ib_hca", "ucx_net_devices", "nvshmem", "socket_interface", "rail_only",
          "topo_file", "env", "memory", "omp_num_threads", "health", "failures", "cost", "step", "restart",
          "undeclared", "declare_above", "undeclared_time", "long_interval", "most_interval", "declares", "signal",
          "signal_to", "requeue", "append", "clock", "attempts"}) {
        CAPTURE(key);
        CHECK(text.find("\n" + key + " = ") != std::string::npos);
    }
    for (const std::string key : {"bus_bandwidth", "oversubscription", "wait"}) {
        CAPTURE(key);
        const auto at = text.find("\n##" + key + " = ");
        REQUIRE(at != std::string::npos);
        const auto end = text.find('\n', at + 1);
        CHECK(errors_of("[placement]\ncommunication = 0.2\n" + text.substr(at + 3, end - at - 3), key).empty());
    }
    for (const std::string key : {"partition", "account", "qos", "min_gpus", "max_gpus"}) {
        CAPTURE(key);
        CHECK(text.find(key + " = ", text.find("match = {")) != std::string::npos);
    }
}
