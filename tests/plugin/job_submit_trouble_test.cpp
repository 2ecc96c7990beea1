// Whatever goes wrong in the real job_submit_railhead.so, or comes at once: the host lives.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fakes/failing_memory.hpp"
#include "plugin/job_submit_host.hpp"

using namespace job_submit_host;

TEST_CASE("an empty list is none, and stays as it is", "[plugin]") {
    // sbatch --nodelist= and its like: "Requested node configuration is not available" elsewhere.
    const Host host{enforce};
    Job job;
    job.gpus("gres:gpu:h100:16");
    std::string empty;
    for (auto* list : {&job.desc.req_nodes, &job.desc.features, &job.desc.reservation,
                       &job.desc.partition}) {
        *list = empty.data();
    }
    job.exclude("");
    const auto* excluded = job.desc.exc_nodes;

    REQUIRE(job.submit(host) == SLURM_SUCCESS);

    CHECK(job.desc.min_nodes == 2);
    CHECK(job.desc.req_switch == 1);
    CHECK(job.desc.req_nodes == empty.data());
    CHECK(job.desc.exc_nodes == excluded);
}

TEST_CASE("garbage in every string of a job is survived", "[plugin]") {
    const Host host{enforce};
    const auto garbage = GENERATE(
        as<std::string>{}, "", ",", "gpu:", "gres:gpu:99999999999999999999", "gpu:h100:8:9:10",
        "%s%n%x", "\xff\xfe\x01", "n[0-99999999]", "[[[[[[[[", "gpu:0", "gpu:-1",
        std::string(1 << 20, 'x'), std::string(100000, ','), "main,,nowhere,", "\n\r\x1b[31m");
    CAPTURE(garbage.substr(0, 40));
    Job job;
    auto* text = const_cast<char*>(garbage.c_str());
    job.desc.tres_per_job = job.desc.tres_per_node = job.desc.tres_per_task = text;
    job.desc.tres_per_socket = job.desc.tres_bind = job.desc.cpus_per_tres = text;
    job.desc.mem_per_tres = job.desc.features = job.desc.req_nodes = text;
    job.exclude(text);
    job.desc.reservation = job.desc.account = job.desc.qos = text;
    CHECK(job.submit(host) == SLURM_SUCCESS);
    job.desc.partition = text;
    CHECK(job.submit(host) == SLURM_SUCCESS);
    for (const auto& line : fake_slurm::logged()) {
        CHECK(line.find('\n') == std::string::npos);  // a user cannot write log lines
        CHECK(line.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("an environment of ten thousand lines is read to its end", "[plugin]") {
    const Host host{enforce};
    std::vector<std::string> lines(10'000, "A_VARIABLE_OF_THE_USER=" + std::string(200, 'v'));
    lines.emplace_back("NO_EQUALS_SIGN");
    lines.emplace_back("RAILHEAD=off");
    std::vector<char*> pointers;
    for (auto& line : lines) {
        pointers.push_back(line.data());
    }
    pointers[17] = nullptr;
    Job job;
    job.gpus("gpu:16");
    job.desc.environment = pointers.data();
    job.desc.env_size = static_cast<uint32_t>(pointers.size());
    CHECK(job.submit(host) == SLURM_SUCCESS);
    CHECK(job.desc.min_nodes == NO_VAL);
}

TEST_CASE("running out of memory at any point: a job is changed whole or not at all", "[plugin]") {
    if (!fakes::FailingMemory::works()) {
        SKIP("a sanitizer has an allocator of its own");
    }
    const Host host{all_rules};
    bool has_failed = true;
    int points = 0;
    for (long at = 0; has_failed && at < 10'000; ++at) {
        Job job;
        job.gpus("gpu:16");
        job.desc.features = const_cast<char*>("fast");
        job.exclude("n[1-2]");
        const auto before = job.desc;
        int status = 0;
        {
            const fakes::FailingMemory memory{at};
            status = job.submit(host);
            has_failed = memory.has_failed();
        }
        CHECK(status == SLURM_SUCCESS);
        if (has_failed) {
            // Changed whole or not at all: the last allocations are the texts that Slurm is given, and
            // its own allocator does not return without memory.
            const bool unchanged = std::memcmp(&before, &job.desc, sizeof before) == 0;
            const bool whole = job.desc.min_nodes == 2 && job.desc.max_nodes == 2 &&
                               job.desc.shared == 0 && job.desc.req_switch == 1;
            CHECK((unchanged || whole));
            CHECK(std::string{job.desc.exc_nodes}.starts_with("n[1-2]"));
            ++points;
        }
    }
    CHECK(points > 3);
    CHECK(fake_slurm::has_logged("bad_alloc"));
}

TEST_CASE("job_submit may be called from several threads while the policy changes", "[plugin]") {
    const Host host{enforce};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&host] {
            for (int k = 0; k < 500; ++k) {
                Job job;
                job.gpus("gpu:16");
                job.submit(host);
            }
        });
    }
    for (int k = 0; k < 5; ++k) {
        host.folder().write("railhead.toml", k % 2 == 0 ? "mode = \"observe\"\n" : enforce);
        ::usleep(500'000);
        Job job;
        job.gpus("gpu:16");
        CHECK(job.submit(host) == SLURM_SUCCESS);
    }
    for (auto& thread : threads) {
        thread.join();
    }
}
