"""Training that something befalls: what is lost, and that it goes on with the newest complete checkpoint.

The trainer writes checkpoints when the clock's signal tells it to, and not by itself, so a test that finds one
has seen the signal arrive.
"""

import json
import re
import time

import pytest

from conftest import BUILD, empty, needs_freezer
from keeper import wait_until
from training import Run, training_rig

pytestmark = needs_freezer

INTERVAL, COST, STEP = 2, 0.2, 0.1  # seconds
EACH = f"--step={STEP} --cost={COST}"
BY_SIGNAL = f"{EACH} --interval=0"
TWO_NODES = ("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--time=10", f"--ckpt-interval={INTERVAL}")
POLICY = 'mode = "enforce"\ncheckpoint.clock = true\n'


@pytest.fixture(scope="module")
def training(plugins):
    with training_rig(policy=POLICY) as rig:
        yield rig


@pytest.fixture
def rig(training):
    yield training
    # Killed slurmds first, or their jobs would never end.
    training.run(["scancel", f"--user={training.user}"], user="root", check=False)
    training.revive_nodes()
    empty(training)


@pytest.fixture
def run(rig, request):
    return Run(rig, re.sub(r"\W", "_", request.node.name.removeprefix("test_")))


def assert_little_lost(run, most_lost=INTERVAL + COST + STEP, most_until=60):
    """Asserts that an attempt lost no more work than it may, and prints both figures."""
    lost, until = run.lost()
    print(f"\n{run.folder.name}: {lost:.2f} s of work lost, first step again {until:.1f} s after the last one")
    # The ranks need a moment to agree, on a machine that may be busy.
    assert lost <= most_lost + 0.5, run.story()
    assert until <= most_until, run.story()


# -- nodes -----------------------------------------------------------------------------------------


def test_a_node_that_dies_costs_no_more_than_one_interval(rig, run):
    run.submit("srun", *TWO_NODES, steps=70, trainer_options=BY_SIGNAL)
    run.wait_for("checkpoint", why="SIGUSR1", count=4 * 2)  # two of each rank
    run.wait_for("step", iteration=run.events("checkpoint")[-1]["iteration"] + 12, rank=0)

    rig.kill_node("n02")

    run.finish()
    run.assert_one_history()
    assert run.events("start", attempt=1, rank=0)[0]["iteration"] == run.events("checkpoint", attempt=0, rank=0)[-1]["iteration"]
    assert_little_lost(run)


def test_a_node_set_down_costs_no_more_than_one_interval(rig, run):
    run.submit("srun", *TWO_NODES, steps=60, trainer_options=BY_SIGNAL)
    run.wait_for("checkpoint", why="SIGUSR1", rank=0)

    rig.run(["scontrol", "update", "NodeName=n02", "State=DOWN", "Reason=test"], user="root")

    run.finish()
    run.assert_one_history()
    assert_little_lost(run)


def test_ranks_that_outlive_their_attempt_never_write_over_the_next_one(rig, run):
    # All of them on the node whose slurmd dies, so that nobody ends them.
    run.submit("srun", "-N1", "--gpus-per-node=2", "--ntasks-per-node=2", "--time=10", f"--ckpt-interval={INTERVAL}",
               steps=400, trainer_options=f"{BY_SIGNAL} --interval={INTERVAL}")
    run.wait_for("checkpoint", rank=0)

    rig.kill_slurmd(rig.job_info(run.job)["NodeList"])

    run.wait_for("start", attempt=1, rank=0)
    fenced = run.wait_for("fenced", attempt=0, rank=0)
    assert fenced["time"] > run.events("start", attempt=1)[0]["time"]
    run.wait_for("checkpoint", attempt=1, rank=0, count=2)
    newest = int((run.folder / "checkpoints" / "latest_checkpointed_iteration.txt").read_text())
    assert newest in {one["iteration"] for one in run.events("checkpoint", attempt=1)}, run.story()


# -- ends that are announced -----------------------------------------------------------------------


def test_a_preempted_job_keeps_all_its_work(rig, run):
    run.submit("srun", "-N4", "--exclusive", "--gpus-per-node=2", "--ntasks-per-node=1", "--time=10",
               f"--ckpt-interval={INTERVAL}", steps=60, trainer_options=BY_SIGNAL)
    run.wait_for("step", iteration=15, rank=0)

    urgent = rig.sbatch("#!/bin/sh\nsleep 1\n", "-N4", "--exclusive", "-p", "urgent")

    rig.wait_job(urgent)
    run.finish()
    run.assert_one_history()
    assert_little_lost(run, most_lost=0)


def test_a_cancelled_job_stays_cancelled_and_keeps_all_its_work(rig, run):
    run.submit("srun", *TWO_NODES, steps=400, trainer_options=BY_SIGNAL)
    run.wait_for("step", iteration=15, rank=0)

    rig.run(["scancel", str(run.job.id)])

    assert rig.wait_job(run.job)["JobState"] == "CANCELLED"
    last = run.events("step", rank=0)[-1]["iteration"]
    assert run.events("checkpoint", rank=0)[-1]["iteration"] == last, run.story()
    time.sleep(8)  # a job that was requeued would wait for its credential
    assert rig.job_info(run.job)["JobState"] == "CANCELLED" and not run.events(attempt=1), run.story()


# -- ranks -----------------------------------------------------------------------------------------


CRASH = f"{BY_SIGNAL} --fault=crash --fault-at=15 --patient"


def test_a_rank_that_crashes_ends_the_job_at_once(rig, run):
    run.submit("srun", *TWO_NODES, steps=400, trainer_options=CRASH)
    crash = run.wait_for("fault")["time"]

    info = rig.wait_job(run.job)

    assert info["JobState"] == "FAILED" and info["Restarts"] == "0", run.story()
    assert time.time() - crash < 15


def test_a_job_that_lingers_after_one_rank_died_is_told_of_and_its_site_too(rig, run):
    run.submit("srun", *TWO_NODES, steps=400, trainer_options=CRASH, edit=lambda script: script.replace(" --kill-on-bad-exit=1", ""))
    run.wait_for("fault")

    assert wait_until(lambda: f'no checkpoint in "{run.folder}/checkpoints" for ' in run.job.output(), 10), run.story()
    assert rig.job_info(run.job)["JobState"] == "RUNNING"
    check = json.loads(rig.run([BUILD / "cli" / "railhead", "check", "--json"], user="root", check=False).stdout)
    assert any(finding["text"].startswith("KillOnBadExit=0: when one rank dies the others wait for it") for finding in check["findings"])


def test_a_rank_that_hangs_is_told_of_and_ended_by_the_others_patience(rig, run):
    run.submit("srun", *TWO_NODES, steps=400, trainer_options=f"{BY_SIGNAL} --fault=hang --fault-at=25 --timeout=8")
    hang = run.wait_for("fault")["time"]

    assert wait_until(lambda: f'no checkpoint in "{run.folder}/checkpoints" for ' in run.job.output(), 7), run.story()

    assert rig.wait_job(run.job)["JobState"] == "FAILED", run.story()
    assert time.time() - hang < 25


# -- fewer nodes -----------------------------------------------------------------------------------


def test_a_job_that_loses_a_node_goes_on_with_those_left(rig, run):
    run.submit("elastic", "-N3", "--gpus-per-node=2", "--time=10", f"--ckpt-interval={INTERVAL}", steps=60, trainer_options=BY_SIGNAL,
               edit=lambda script: script.replace("least=6 # nodes", "least=2").replace("sleep 5", "sleep 0.5"))
    run.wait_for("checkpoint", why="SIGUSR1", rank=0)

    rig.kill_node("n03")

    end = run.finish()
    assert rig.job_info(run.job)["Restarts"] == "0"
    assert (run.events("start", rank=0)[0]["world"], end["world"]) == (6, 4)
    run.assert_one_history()
    first, second = (one["env"] for one in run.events("start", rank=0))
    # Failures of two nodes come half as often again as those of three.
    assert float(second["RAILHEAD_CKPT_MTBF"]) == pytest.approx(1.5 * float(first["RAILHEAD_CKPT_MTBF"]), rel=0.01)
