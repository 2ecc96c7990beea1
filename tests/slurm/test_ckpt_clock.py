"""The checkpoint clock on real daemons: whom it signals, when, and that nobody dies of it or waits for it."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from clocked import HELPER, LINE, catch, clocked_rig, next_multiple, reports, srun, start, times  # noqa: F401
from conftest import empty, needs_freezer
from keeper import descendants, wait_until

CLOCK = ["--ckpt-signal=USR1", "--ckpt-interval=1"]
RARELY = ["--ckpt-signal=USR1", "--ckpt-interval=300d"]  # no tick falls into a test, not at the full hour either
NOT_YET = ["--ckpt-signal=USR1", "--ckpt-interval=2"]  # after not_yet(): the first tick finds all that start ready
SLACK = 0.5  # seconds that a busy machine may be late


@pytest.fixture(scope="module", params=[pytest.param("cgroup", marks=needs_freezer)])
def clocked(plugins, request):
    with clocked_rig(2, proctrack=request.param, grace=6) as rig:
        yield rig


# Slurm's way to follow processes matters to who is signalled, and to who is killed when.
both = pytest.mark.parametrize("clocked", [pytest.param("cgroup", marks=needs_freezer), "linuxproc"], indirect=True)


@pytest.fixture
def rig(clocked):
    yield clocked
    empty(clocked)
    reports(clocked)
    assert wait_until(lambda: not helpers(clocked), 5), "a clock outlives its step"


def helpers(rig):
    """The clocks that run: {pid: command line}."""
    found = {}
    for pid in descendants(rig.keeper.pid):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[0] == str(HELPER):
            found[pid] = words
    return found


def background(rig, script, *options):
    """A job that is left running."""
    job = rig.sbatch("#!/bin/bash\n" + script.replace("CATCH", str(catch(rig))) + "\n", *options)
    rig.wait_job(job, states={"RUNNING"})
    return job


def not_yet():
    next_multiple(2, 1.6)


def finish(rig, job):
    info = rig.wait_job(job)
    return info, reports(rig), job.output()


def through(rig, line):
    """Has the nodes start their helpers by this line of a shell."""
    wrapper = rig.work / "wrapper"
    wrapper.write_text(f"#!/bin/sh\n{line}\n")
    wrapper.chmod(0o755)
    os.chown(wrapper, 0, 0)
    (rig.etc / "plugstack.conf").write_text(LINE.format(plugins=rig.plugins).replace(str(HELPER), str(wrapper)))


def forget_ntp():
    for file in Path("/tmp").glob("railhead-ckpt-*.n0?.ntp"):
        file.unlink()


STRICTEST = """
    mode = "enforce"
    [checkpoint]
    clock = true
    signal = "USR1"
    signal_to = "tasks"
    min_nodes = 1
    declares = ["HOME"]  # every job declares, ready or not
    failures = 1000000  # a failure of the gang every 43 s: ticks every few seconds
    cost = "1s"
    step = "1s"
    restart = "1s"
    long_interval = "refuse"
    undeclared = "refuse"
    declare_above = 1
"""


def strictest():
    """A job that is not prepared, under that policy."""
    rig = clocked_rig(2, policy=STRICTEST, job_submit=True, gpus=1)
    rig.start()
    return rig, rig.sbatch("#!/bin/sh\nsrun -N2 sh -c 'sleep 300; true'\n", "-N2", "--gpus-per-node=1", "-t1")


def last_call():
    """A job that is called 58 s after its start: cost and step are 1 s, so the lead is 62 s of two minutes."""
    rig = clocked_rig(1)
    rig.start()
    script = "export RAILHEAD_CKPT_COST=1 RAILHEAD_CKPT_STEP=1; srun CATCH 100 until=1"
    return rig, background(rig, script, "-N1", "-t2", *RARELY)


@pytest.fixture(scope="module", autouse=True)
def minutes(plugins, request):
    """What takes a minute is begun first, and looked at last: {test: (rig, job)}."""
    chosen = {item.originalname for item in request.session.items}
    begun = {}
    try:
        for test, begin in (("test_an_unprepared_job_under_the_strictest_policy_runs_to_its_time_limit_unharmed", strictest),
                            ("test_the_last_call_comes_a_lead_before_the_end", last_call)):
            if test in chosen:
                begun[test] = begin()
        yield begun
    finally:
        for rig, _ in begun.values():
            rig.stop()


# -- when -------------------------------------------------------------------------------------


def test_every_task_of_every_node_is_called_at_the_same_ticks(rig):
    not_yet()
    found, _ = srun(rig, "9", "until=2", options=["-N2", "-n4", *NOT_YET])
    assert len(found) == 4
    ticks = {tuple(round(when) for when in times(report)) for report in found}
    assert len(ticks) == 1 and len(next(iter(ticks))) == 2
    for report in found:
        for when in times(report):
            assert when % 2 < SLACK, report["got"]


def test_ranks_that_start_two_seconds_apart_are_called_at_the_same_ticks(rig):
    script = "import os,time; time.sleep(2*int(os.environ['SLURM_PROCID'])); os.execv(os.sys.argv[1], os.sys.argv[1:])"
    rig.run(["srun", "-N2", "-n2", *CLOCK, "python3", "-c", script, catch(rig), "3.5"])
    first, second = reports(rig)
    shared = {round(when) for when in times(first)} & {round(when) for when in times(second)}
    assert second["began"] - first["began"] > 1.5
    assert len(shared) >= 1
    assert all(when % 1 < SLACK for when in times(first) + times(second))


def test_a_changed_time_limit_moves_the_last_call(start):
    rig = start(1)
    through(rig, f"exec {HELPER} \"$@\" --reread 1")  # more often than every five minutes
    job = background(rig, "export RAILHEAD_CKPT_COST=1 RAILHEAD_CKPT_STEP=1; srun CATCH 20 until=1", "-t10", *RARELY)
    assert wait_until(lambda: any((rig.work / "reports").iterdir()), 10)
    changed = time.time()
    rig.run(["scontrol", "update", f"JobId={job.id}", "TimeLimit=1"], user="root")
    _, found, output = finish(rig, job)
    called, = (when for report in found for when in times(report))
    assert 0 < called - changed < 3, output


# Stands in for the kernel, which on a machine of tests may say either.
NTP = """
#include <string.h>
#include <sys/timex.h>
int adjtimex(struct timex* state) {
    memset(state, 0, sizeof *state);
    state->status = SYNCHRONISED ? 0 : STA_UNSYNC;
    return SYNCHRONISED ? TIME_OK : TIME_ERROR;
}
"""


def test_a_node_off_ntp_is_told_of_once_a_job(start):
    rig = start(2)
    (rig.etc / "ntp.c").write_text(NTP)
    forget_ntp()
    for synchronised in 0, 0, 1:
        library = rig.etc / f"ntp{synchronised}.so"
        subprocess.run(["cc", "-shared", "-fPIC", f"-DSYNCHRONISED={synchronised}", "-o", library, rig.etc / "ntp.c"], check=True)
        through(rig, f"LD_PRELOAD={library} exec {HELPER} \"$@\"")
        job = rig.sbatch("#!/bin/sh\nsrun -N1 sleep 0.2\nsrun -N2 sleep 0.2\nsrun -N2 sleep 0.2\n", "-N2", *RARELY)
        assert rig.wait_job(job)["JobState"] == "COMPLETED"
        told = sorted(re.findall("the clock of (n0[12]) is not synchronised", job.output()))
        assert told == ([] if synchronised else ["n01", "n02"]), job.output()
    forget_ntp()


# Stands in for a clock that is set: what FILE says is added to the time, and the kernel's wake-up of who
# waits for a time of that clock comes within 50 ms.
SET = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
static long long added_ms(void) {
    long long ms = 0;
    FILE* file = fopen(FILE_OF_MS, "r");
    if (file) { if (fscanf(file, "%lld", &ms) != 1) ms = 0; fclose(file); }
    return ms;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
    int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME) {
        long long ns = now->tv_sec * 1000000000LL + now->tv_nsec + added_ms() * 1000000;
        now->tv_sec = ns / 1000000000, now->tv_nsec = ns % 1000000000;
    }
    return result;
}
int timerfd_settime(int fd, int flags, const struct itimerspec* when, struct itimerspec* old) {
    int (*real)(int, int, const struct itimerspec*, struct itimerspec*) = dlsym(RTLD_NEXT, "timerfd_settime");
    struct timespec now;
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    if (!(flags & TFD_TIMER_CANCEL_ON_SET)) return real(fd, flags, when, old);
    clock_gettime(CLOCK_REALTIME, &now);
    long long left = (when->it_value.tv_sec - now.tv_sec) * 1000000000LL + when->it_value.tv_nsec - now.tv_nsec;
    if (left > 0) soon.it_value.tv_nsec = left < 50000000 ? left : 50000000;
    return real(fd, 0, &soon, old);
}
"""


def test_the_ticks_follow_a_clock_that_is_set_and_none_comes_twice(start):
    rig = start(2)
    ahead, library = rig.work / "ahead", rig.etc / "set.so"
    ahead.write_text("0")
    ahead.chmod(0o644)
    (rig.etc / "set.c").write_text(SET)
    subprocess.run(["cc", "-shared", "-fPIC", f'-DFILE_OF_MS="{ahead}"', "-o", library, rig.etc / "set.c"], check=True)
    through(rig, f"LD_PRELOAD={library} exec {HELPER} \"$@\"")
    job = background(rig, "srun -N2 -n2 CATCH 14", "-N2", "-t10", *NOT_YET)
    assert wait_until(lambda: len(os.listdir(rig.work / "reports")) >= 2, 10)
    changes = []
    for ms in 800, 0:
        time.sleep(3)
        next_multiple(2, 0.7)
        time.sleep(max(0, 0.6 - time.time() % 2))  # between the ticks of both clocks
        ahead.write_text(str(ms))
        changes.append(time.time())
    _, found, output = finish(rig, job)
    assert len(found) == 2
    for report in found:
        called = times(report)
        before, put_ahead, put_back = ([when for when in called if low < when < high] for low, high in
                                       zip([0, *changes], [*changes, time.time()]))
        assert before and all(when % 2 < SLACK for when in before), (called, output)
        assert put_ahead and all((when + 0.8) % 2 < SLACK for when in put_ahead), (called, output)
        assert put_back and all(when % 2 < SLACK for when in put_back), (called, output)
        assert min(after - when for when, after in zip(called, called[1:])) > 1, called


# -- whom -------------------------------------------------------------------------------------


def test_an_unprepared_program_lives_and_is_told_of_once(rig):
    begun = time.time()
    result = rig.run(["srun", "-N1", "-n2", *CLOCK, "sleep", "3"])
    assert 3 <= time.time() - begun < 6
    told = [line for line in result.stderr.splitlines() if "no checkpoint now" in line]
    assert len(told) == 1, result.stderr
    assert "(sleep) and what it launched do not catch USR1" in told[0]


def test_a_program_that_catches_the_signal_late_is_called_from_then_on(rig):
    found, said = srun(rig, "9", "late=2", "until=1", options=["-N1", *CLOCK])
    assert times(found[0]) and min(times(found[0])) > found[0]["began"] + 2
    assert said.count("no checkpoint now") == 1


@both
@pytest.mark.parametrize("kind", ["loader", "bare"])
def test_data_loaders_are_left_alone(rig, kind):
    not_yet()
    found, said = srun(rig, "2.5", kind, options=["-N1", *NOT_YET])
    task = next(report for report in found if report["role"] == "task")
    assert times(task)
    assert [report["got"] for report in found if report["role"] == "loader"] == ([[]] if kind == "loader" else [])
    assert kind != "bare" or task["child"] == 0  # the loader that catches nothing came to its own end
    assert "no checkpoint now" not in said


def test_a_launchers_workers_are_called(rig):
    # As torchrun: it catches nothing, and its workers are in sessions of their own.
    not_yet()
    launcher = f"import subprocess; [w.wait() for w in [subprocess.Popen(['{catch(rig)}', '9', 'until=1'], start_new_session=True) for _ in 'ab']]"
    result = rig.run(["srun", "-N1", *NOT_YET, "python3", "-c", launcher])
    found = reports(rig)
    assert [len(times(report)) for report in found] == [1, 1]
    assert "no checkpoint now" not in result.stderr


def test_a_shells_trap_is_called_and_not_what_it_runs(rig):
    script = f"trap 'echo trapped' USR1; {catch(rig)} 3 & while kill -0 $! 2>/dev/null; do wait; done"
    result = rig.run(["srun", "-N1", *CLOCK, "bash", "-c", script])
    assert result.stdout.count("trapped") >= 2
    assert [report["got"] for report in reports(rig)] == [[]]


def test_rank0_alone_is_called_where_the_user_says_so(rig):
    not_yet()
    found, said = srun(rig, "2.5", options=["-N2", "-n4", "--ckpt-signal=USR1@rank0", "--ckpt-interval=2"])
    assert [bool(times(report)) for report in found] == [True, False, False, False]
    assert said.count("no checkpoint now") == 0


def test_the_batch_script_is_called_where_the_user_says_so(rig):
    script = "trap 'echo trapped' USR1; srun CATCH 3 & while kill -0 $! 2>/dev/null; do wait; done"
    job = background(rig, script, "-N1", "--ckpt-signal=USR1@batch", "--ckpt-interval=1")
    _, found, output = finish(rig, job)
    assert output.count("trapped") >= 2
    assert [report["got"] for report in found] == [[]]


def test_a_trainer_that_the_batch_script_starts_is_called_and_the_scripts_trap_is_not(rig):
    not_yet()
    script = "trap 'echo trapped' USR1; CATCH 9 until=1"
    job = background(rig, script, "-N1", *NOT_YET)
    _, found, output = finish(rig, job)
    assert len(times(found[0])) == 1
    assert "trapped" not in output and "no checkpoint now" not in output


def test_a_batch_script_with_steps_says_nothing_of_itself(rig):
    not_yet()
    job = background(rig, "srun CATCH 9 until=1", "-N1", *NOT_YET)
    info, found, output = finish(rig, job)
    assert info["JobState"] == "COMPLETED" and len(times(found[0])) == 1
    assert "no checkpoint now" not in output


def test_a_task_in_a_pid_namespace_of_its_own_is_called(rig):
    if subprocess.run(["unshare", "-Urpf", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    result = rig.run(["srun", "-N1", *CLOCK, "unshare", "-Urpf", "--mount-proc", catch(rig), "9", "until=2"])
    found = reports(rig)
    assert found[0]["pid"] == 1 and len(times(found[0])) == 2, result.stderr


# -- what Slurm sends -------------------------------------------------------------------------


def test_scancels_urg_asks_for_a_checkpoint_and_harms_nobody(rig):
    job = background(rig, "srun -n1 --overlap CATCH 3 & srun -n1 --overlap sleep 3 & wait", "-N1", "-n2", *RARELY)
    assert wait_until(lambda: len(helpers(rig)) == 3, 10)
    time.sleep(1)
    rig.run(["scancel", "--signal=URG", str(job.id)])
    info, found, output = finish(rig, job)
    assert info["JobState"] == "COMPLETED", output
    assert [len(times(report)) for report in found] == [1]


@both
def test_other_signals_that_slurm_sends_to_a_step_do_not_end_its_clock(rig):
    job = background(rig, "srun -n1 CATCH 3.5 signals=USR1,USR2,HUP,INT,ALRM", "-N1", *CLOCK)
    assert wait_until(lambda: len(helpers(rig)) == 2, 10)
    time.sleep(0.5)
    for name in ("USR1", "USR2", "HUP", "ALRM"):
        rig.run(["scancel", f"--signal={name}", str(job.id)])
    sent = time.time()
    info, found, output = finish(rig, job)
    assert info["JobState"] == "COMPLETED", output
    assert max(times(found[0])) > sent + 1


def test_preemption_calls_at_once(rig):
    job = background(rig, "trap '' TERM; srun CATCH 30 until=2 signals=USR1,TERM", "-N2", "-n2", "--exclusive", "-t10", *RARELY)
    assert wait_until(lambda: len(list((rig.work / "reports").iterdir())) == 2, 10)
    begun = time.time()
    urgent = rig.sbatch("#!/bin/sh\ntrue\n", "-N1", "--exclusive", "-p", "urgent")
    rig.wait_job(urgent)
    found = reports(rig)
    assert len(found) == 2
    for report in found:
        first = {name: when - begun for name, when in reversed(report["got"])}
        assert first["USR1"] < first["TERM"] + SLACK, report["got"]


# -- nobody waits for it ----------------------------------------------------------------------


def test_the_end_of_a_step_is_not_delayed(rig):
    def took(options):
        begun = time.monotonic()
        rig.run(["srun", "-N2", "-n4", *options, "true"])
        return time.monotonic() - begun
    plain = min(took([]) for _ in range(5))
    clocked = min(took(CLOCK) for _ in range(5))
    print(f"\nsrun -N2 -n4 true: {plain:.3f} s, with a clock {clocked:.3f} s")
    assert clocked < plain + 0.5
    assert wait_until(lambda: not helpers(rig), 2)


def test_a_task_sees_no_strange_child(rig):
    found, _ = srun(rig, "1.5", "wait", options=["-N1", "-n2", *CLOCK])
    assert [report["child"] for report in found] == ["none", "none"]


@both
def test_the_clock_is_the_steps_own_and_is_killed_with_it(rig):
    job = background(rig, "srun -N2 -n2 CATCH 60", "-N2", *CLOCK)
    assert wait_until(lambda: len(helpers(rig)) == 3, 10)  # of the batch step, and one a node
    step = [pid for pid, words in helpers(rig).items() if "tasks" in words]
    for pid in step:
        parent = int(re.search(r"PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
        assert Path(f"/proc/{parent}/comm").read_text().startswith("slurmstepd")
        assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in "01"} == {"/dev/null"}
        # Beside these the socket of its end, and what it made itself.
        kinds = sorted(re.sub(r"\[.*|:.*", "", os.readlink(f"/proc/{pid}/fd/{fd}"))
                       for fd in os.listdir(f"/proc/{pid}/fd") if fd not in "012")
        assert kinds.count("socket") == 1 and "pipe" not in kinds, kinds
    rig.run(["scancel", str(job.id)])
    rig.wait_job(job)
    assert wait_until(lambda: not helpers(rig), 5)


def test_tasks_that_are_gone_at_once_let_nobody_else_be_signalled(rig):
    victim = background(rig, "srun -N1 -n1 CATCH 60", "-N1", "-n1")
    assert wait_until(lambda: os.listdir(rig.work / "reports"), 10)
    for _ in range(6):
        rig.run(["srun", "-N1", "-n2", "--ckpt-signal=USR1", "--ckpt-interval=1", "bash", "-c",
                 "[ $SLURM_LOCALID = 0 ] || sleep 1.2"])
        rig.run(["srun", "-N1", "--ckpt-signal=USR1", "--ckpt-interval=1", "true"])
    rig.run(["scancel", str(victim.id)])
    found = reports(rig)
    assert [report["got"] for report in found] == [[]]


@both
def test_when_slurmstepd_dies_the_clock_ends(rig):
    job = background(rig, "srun -N1 CATCH 60", "-N1", *CLOCK)
    assert wait_until(lambda: len(helpers(rig)) == 2, 10)
    pid = next(pid for pid, words in helpers(rig).items() if "tasks" in words)
    parent = int(re.search(r"PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    os.kill(parent, 9)
    assert wait_until(lambda: pid not in helpers(rig), 5)
    rig.run(["scancel", str(job.id)])


def test_a_step_that_waits_for_children_ends(rig):
    if "--wait-for-children" not in rig.run(["srun", "--help"]).stdout:
        pytest.skip("this srun has no --wait-for-children")
    if rig.proctrack != "cgroup" or not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("--wait-for-children needs proctrack/cgroup and cgroup v2")
    rig.run(["srun", "-N1", "--wait-for-children", *CLOCK, "sleep", "1"], timeout=30)


def test_the_clock_takes_less_than_a_thousandth_of_a_core(rig):
    job = background(rig, "srun -N1 -n2 CATCH 20", "-N1", "-n2", "--ckpt-signal=USR1", "--ckpt-interval=1")
    assert wait_until(lambda: len(helpers(rig)) == 2, 10)
    pid = next(pid for pid, words in helpers(rig).items() if "tasks" in words)

    def used():
        fields = Path(f"/proc/{pid}/schedstat").read_text().split()
        return int(fields[0]) / 1e9
    time.sleep(1)
    before, begun = used(), time.monotonic()
    time.sleep(5)
    share = (used() - before) / (time.monotonic() - begun)
    print(f"\nwith a tick a second: {100 * share:.4f} % of a core")
    assert share < 0.001
    rig.run(["scancel", str(job.id)])


# -- what takes a minute, and was begun first -------------------------------------------------


def test_the_last_call_comes_a_lead_before_the_end(minutes, request):
    rig, job = minutes[request.node.originalname]
    _, found, output = finish(rig, job)
    called, = (when for report in found for when in times(report))
    assert abs(called - int(found[0]["env"]["RAILHEAD_CKPT_DEADLINE"])) < SLACK, output


def test_an_unprepared_job_under_the_strictest_policy_runs_to_its_time_limit_unharmed(minutes, request):
    rig, job = minutes[request.node.originalname]
    info = rig.wait_job(job, timeout=150)
    assert info["JobState"] == "TIMEOUT", job.output()
    minutes_run = [int(part) for part in info["RunTime"].split(":")]
    assert minutes_run[0] == 0 and minutes_run[1] >= 1
    assert "User defined signal" not in job.output()
    assert job.output().count("no checkpoint now") == 1, job.output()  # the clock ran
