"""The checkpoint clock where PID namespaces were changed: who cannot be signalled safely is told, and not signalled."""

import os
import subprocess

import pytest

from clocked import HELPER, LINE, clocked_rig, reports, srun
from conftest import empty

# A plugin that gives what a task starts a PID namespace of its own, before ours has its turn.
NEWPID = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
SPANK_PLUGIN(newpid, 1)
int slurm_spank_task_init_privileged(spank_t spank, int count, char** words) {
    (void)spank, (void)count, (void)words;
    return unshare(CLONE_NEWPID);
}
"""


@pytest.fixture(scope="module")
def rig(plugins):
    with clocked_rig(2, line="optional {etc}/newpid.so\n" + LINE) as rig:
        (rig.etc / "newpid.c").write_text(NEWPID)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", rig.etc / "newpid.so", rig.etc / "newpid.c"], check=True)
        yield rig
        empty(rig)


def test_where_the_program_would_be_the_first_of_a_namespace_it_is_not_started(rig):
    # As the first it would take all others with it when it ends.
    found, said = srun(rig, "3", options=["-N2", "-n2", "--ckpt-signal=USR1", "--ckpt-interval=1"])
    assert [report["got"] for report in found] == [[], []]
    assert said.count("railhead: no checkpoint clock and no watcher: what the task starts is in the PID namespace") == 1, said
    assert "no checkpoint now" not in said


def test_a_step_without_a_clock_is_told_nothing_of_namespaces(rig):
    _, said = srun(rig, "0.1", options=["-N2", "-n2"])
    assert "namespace" not in said
    reports(rig)


def clock(*options, wrapper=()):
    """The program as the plugin starts it: (status, what it said)."""
    end, held = os.pipe()
    try:
        words = [*wrapper, HELPER, "clock", "--job", "1", "--signal", "10", "--interval", "1", "--lead", "1", "--speaks", *options,
                 "--end-fd", str(end)]
        done = subprocess.run(words, pass_fds=[end], capture_output=True, text=True, timeout=20, check=False)
        return done.returncode, done.stderr
    finally:
        os.close(end)
        os.close(held)


def test_a_program_that_sees_another_namespaces_proc_signals_nobody(plugins):
    wrapper = ["unshare", "-Urpf"]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    status, said = clock("--target", "tasks", "--pid", "1", "--parent", "1", wrapper=wrapper)
    assert status == 1
    assert said == "railhead: no checkpoint clock: /proc does not show railhead-ckpt's own PID namespace\n"


def test_tasks_whose_parent_is_in_another_namespace_are_not_told_from_others(plugins):
    status, said = clock("--target", "tasks", "--pid", str(os.getpid()), "--parent", "0")
    assert status == 1
    assert said.startswith("railhead: no checkpoint clock: the tasks are in a PID namespace that their slurmstepd is not in")
    assert said.count("\n") == 1


def test_who_does_not_speak_refuses_silently(plugins):
    end, held = os.pipe()
    words = [HELPER, "clock", "--job", "1", "--signal", "10", "--target", "tasks", "--pid", "1", "--end-fd", str(end)]
    done = subprocess.run(words, pass_fds=[end], capture_output=True, text=True, timeout=20, check=False)
    os.close(end)
    os.close(held)
    assert (done.returncode, done.stderr) == (1, "")
