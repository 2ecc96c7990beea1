// The SPANK entry points.  Nothing is decided here: each one looks in which program it is, as the
// file names in_allocator and in_step say, and hands over.
#include <exception>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

#include "base/guard.hpp"
#include "companions.hpp"
#include "in_allocator.hpp"
#include "in_step.hpp"
#include "job_end.hpp"
#include "options.hpp"
#include "session.hpp"

namespace {

using namespace railhead::spank;

/// The first exception of a thread has glibc allocate the run-time's thread-local block, and glibc
/// aborts when there is no memory for it.  So it is touched while the plugin is loaded, not when
/// the exception is std::bad_alloc.
[[maybe_unused]] const int exceptions_are_ready = std::uncaught_exceptions();

void report(const char* where, const char* what) noexcept {
    slurm_error("railhead: %s: %s", where, what);
}

/// Runs one entry point.  Whatever happens in it, Slurm is told that all is well: an error from
/// here can drain a node, and the job runs without our advice.
template <class Body>
int entry(const char* where, Body&& body) {
    return railhead::guard(where, static_cast<int>(ESPANK_SUCCESS), &report, [&] {
        std::forward<Body>(body)();
        return static_cast<int>(ESPANK_SUCCESS);
    });
}

std::vector<std::string> words(int count, char** values) {
    return {values, values + count};
}

/// srun, or sbatch and salloc
bool is_command(spank_context_t context) {
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

}  // namespace

// SPANK_PLUGIN() is a C macro: in C++ its constants get internal linkage and Slurm does not find
// them.  Hence `extern const` with an initialiser.
extern "C" {
extern const char plugin_name[] = "railhead";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int count, char** values) {
    return entry("init", [&] {
        const auto context = spank_context();
        if (is_command(context)) {
            check_arguments(words(count, values));
            forget_outer_job();
        } else if (context == S_CTX_REMOTE || context == S_CTX_SLURMD) {
            take_arguments(words(count, values));
        }
        if (context == S_CTX_SLURMD) {  // slurm_spank_slurmd_init is never called (22.05 to 26.05)
            keep_facts();
        }
        if (is_command(context) || context == S_CTX_REMOTE) {
            register_options(spank);
        }
    });
}

int slurm_spank_init_post_opt(spank_t spank, int /*count*/, char** /*values*/) {
    return entry("init_post_opt", [&] {
        if (is_command(spank_context())) {
            send_choice(Session{spank});
        } else if (spank_context() == S_CTX_REMOTE) {
            look_ahead(Session{spank});
        }
    });
}

int slurm_spank_user_init(spank_t spank, int /*count*/, char** /*values*/) {
    return entry("user_init", [&] { prepare(Session{spank}); });
}

int slurm_spank_local_user_init(spank_t spank, int /*count*/, char** /*values*/) {
    return entry("local_user_init", [&] { note_job_end(Session{spank}); });
}

int slurm_spank_task_init(spank_t spank, int /*count*/, char** /*values*/) {
    bool start = true;
    const int status = entry("task_init", [&] { start = apply(Session{spank}); });
    return start ? status : -1;  // Slurm looks for a negative status
}

int slurm_spank_task_exit(spank_t /*spank*/, int /*count*/, char** /*values*/) {
    return entry("task_exit", [&] { finish_companions(); });
}
}
