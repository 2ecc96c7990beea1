// A host that plays slurmctld for the real job_submit_railhead.so, and jobs to submit to it.
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
struct job_record;
}

#include "fakes/fake_slurm.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace job_submit_host {

using railhead::test::ScopedVariable;
using railhead::test::TempDir;

using Init = int();
using Fini = void();
using Submit = int(job_desc_msg_t*, uint32_t, char**);
using Modify = int(job_desc_msg_t*, job_record*, uint32_t, char**);

inline const std::string slurm_conf =
    "ClusterName=test\nSlurmctldHost=localhost\nGresTypes=gpu\nTopologyPlugin=topology/tree\n"
    "NodeName=DEFAULT CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=1000000 Gres=gpu:h100:8\n"
    "NodeName=n[1-4] Feature=fast\nNodeName=n[5-8] Feature=fast,small\n"
    "PartitionName=main Nodes=ALL Default=YES\n";
inline const std::string topology =
    "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=spine Switches=s[1-2]\n";

inline const std::string enforce = "mode = \"enforce\"\nnotes = \"all\"\nplacement.wait = \"5m\"\n";
inline const std::string all_rules = enforce + "placement.set_aside = \"small\"\n";

/// A cluster's configuration folder with a policy, and the plugin loaded on it.
class Host {
   public:
    explicit Host(const std::string& policy) {
        folder_.write("slurm.conf", slurm_conf);
        folder_.write("topology.conf", topology);
        if (!policy.empty()) {
            folder_.write("railhead.toml", policy);
            ::chmod(folder_.path("railhead.toml").c_str(), 0644);
        }
        if (policy == all_rules) {
            ::chmod(folder_.write("railhead.lemons", "n8 never slow\n").c_str(), 0644);
        }
        load();
    }
    ~Host() {
        if (so_) {
            symbol<Fini>("fini")();
        }
    }

    template <class F>
    F* symbol(const char* name) const {
        return reinterpret_cast<F*>(::dlsym(so_.get(), name));
    }
    const TempDir& folder() const { return folder_; }

   private:
    void load() {
        fake_slurm::clear();
        so_.reset(::dlopen(JOB_SUBMIT_PLUGIN, RTLD_NOW | RTLD_LOCAL));
        INFO((so_ ? "" : ::dlerror()));
        REQUIRE(so_);
        REQUIRE(symbol<Init>("init")() == SLURM_SUCCESS);
    }

    TempDir folder_;
    ScopedVariable conf_{"SLURM_CONF", folder_.path("slurm.conf")};
    std::unique_ptr<void, int (*)(void*)> so_{nullptr, &::dlclose};
};

/// A job description as slurm_init_job_desc_msg() leaves it, plus what a test sets.
struct Job {
    Job() {
        std::memset(&desc, 0, sizeof desc);
        desc.min_nodes = desc.max_nodes = desc.num_tasks = NO_VAL;
        desc.req_switch = desc.wait4switch = desc.time_limit = NO_VAL;
        desc.pn_min_tmp_disk = desc.het_job_offset = desc.max_cpus = NO_VAL;
        desc.ntasks_per_node = desc.ntasks_per_socket = desc.ntasks_per_core = NO_VAL16;
        desc.ntasks_per_tres = desc.cpus_per_task = desc.pn_min_cpus = NO_VAL16;
        desc.sockets_per_node = desc.cores_per_socket = desc.threads_per_core = NO_VAL16;
        desc.shared = desc.contiguous = desc.core_spec = desc.requeue = NO_VAL16;
        desc.time_min = NO_VAL;
        desc.overcommit = NO_VAL8;
        desc.pn_min_memory = NO_VAL64;
    }
    ~Job() {
        std::free(error);
        std::free(desc.prefer);
        std::free(desc.exc_nodes);
        for (char** entry = desc.environment; owns_environment && *entry != nullptr; ++entry) {
            std::free(*entry);
        }
        std::free(owns_environment ? desc.environment : nullptr);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    int submit(const Host& host) { return host.symbol<Submit>("job_submit")(&desc, 1000, &error); }
    std::string told() const { return error != nullptr ? error : ""; }
    /// As slurmctld has it: from its own memory, to be freed with slurm_xfree().
    void exclude(const char* nodes) { desc.exc_nodes = ::strdup(nodes); }
    /// Makes it a batch job of four nodes, with an environment as slurmctld has it.
    void batch(const char* script, const std::vector<std::string>& environment) {
        desc.script = const_cast<char*>(script);
        desc.tres_per_node = const_cast<char*>("gres/gpu:8");
        desc.min_nodes = desc.max_nodes = 4;
        desc.environment =
            static_cast<char**>(std::calloc(environment.size() + 1, sizeof(char*)));
        for (const auto& entry : environment) {
            desc.environment[desc.env_size++] = ::strdup(entry.c_str());
        }
        owns_environment = true;
    }
    /// The batch environment as one text; fails where its size is not that of the array.
    std::string environment() const {
        std::string text;
        uint32_t count = 0;
        for (; desc.environment[count] != nullptr; ++count) {
            text += std::string{desc.environment[count]} + "\n";
        }
        CHECK(count == desc.env_size);
        return text;
    }
    void gpus(const char* text) { desc.tres_per_job = const_cast<char*>(text); }

    job_desc_msg_t desc;
    char* error = nullptr;
    bool owns_environment = false;
};

}  // namespace job_submit_host
