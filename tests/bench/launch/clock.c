/* Tells when Slurm comes by: a plugin that stands before and behind another one in plugstack.conf.
 *
 *     optional clock_before.so FILE
 *     optional spank_railhead.so
 *     optional clock_behind.so FILE
 *
 * The same code under two names, since Slurm loads a name once.  Each hook appends a line: the name
 * of the hook, the process, nanoseconds of the wall clock, nanoseconds that the thread had a CPU.
 * The CPU's time does not grow while others have it; the wall clock's knows of children, too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(CLOCK_NAME, 1)

static long long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int append(const char* hook, int count, char** words) {
    if (spank_context() != S_CTX_REMOTE || count != 1) {
        return 0;
    }
    long long wall = nanoseconds(CLOCK_MONOTONIC);
    long long cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    char line[128];
    int size = snprintf(line, sizeof line, "%s %d %lld %lld\n", hook, (int)getpid(), wall, cpu);
    int file = open(words[0], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
        if (write(file, line, (size_t)size) != size) {
            slurm_error("clock: cannot write %s", words[0]);
        }
        close(file);
    }
    return 0;
}

#define HOOK(name)                                             \
    int slurm_spank_##name(spank_t spank, int count, char** words) { \
        (void)spank;                                           \
        return append(#name, count, words);                    \
    }

HOOK(init)
HOOK(init_post_opt)
HOOK(user_init)
HOOK(task_init)
