"""The signal to write a checkpoint reaches the processes that are to have it, and harms no other: the example
scripts as they are shipped, and what users have met with (the right process, launchers that keep it, arrays,
containers).

The trainer writes checkpoints when the clock's signal tells it to, and not by itself.
"""

import re

import pytest

from conftest import empty, needs_freezer
from keeper import wait_until
from training import Run, training_rig

pytestmark = needs_freezer

INTERVAL = 2  # seconds
OPTIONS = "--step=0.1 --cost=0.1 --interval=0"
TWO_NODES = ("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--time=10", f"--ckpt-interval={INTERVAL}")
TWO_NODES_TORCHRUN = ("-N2", "--gpus-per-node=2", "--time=10", f"--ckpt-interval={INTERVAL}")
ONE_NODE = ("-N1", "--gpus-per-node=2", "--ntasks-per-node=1", "--time=10", f"--ckpt-interval={INTERVAL}")
POLICY = 'mode = "enforce"\ncheckpoint.clock = true\ncheckpoint.signal = "USR1"\n'


@pytest.fixture(scope="module")
def training(plugins):
    with training_rig(policy=POLICY) as rig:
        yield rig


@pytest.fixture(scope="module")
def long_runs(training):
    """Runs that take their time, on a node that the other tests leave to them: {name: Run}."""
    limited = Run(training, "limited").submit(
        "srun", "-w", "n04", "-N1", "--gpus-per-node=1", "--ntasks-per-node=1", "-c1", "--time=2", "--ckpt-interval=20", steps=700,
        trainer_options=OPTIONS, env={"RAILHEAD_CKPT_COST": "1", "RAILHEAD_CKPT_STEP": "1"})
    # Declares nothing, catches nothing.
    unprepared = Run(training, "unprepared").submit(
        "srun", "-w", "n04", "-N1", "--gpus-per-node=1", "--ntasks-per-node=1", "-c1", "--time=1", steps=100_000,
        trainer_options=f"{OPTIONS} --unprepared --workers=2", edit=undeclared)
    return {"limited": limited, "unprepared": unprepared}


@pytest.fixture
def rig(training, long_runs):
    yield training
    running = training.run(["squeue", "--noheader", "--format=%i", f"--user={training.user}"]).stdout.split()
    kept = {str(run.job.id) for run in long_runs.values()}
    training.run(["scancel", *(set(running) - kept or ["0"])], user="root", check=False)


@pytest.fixture
def run(rig, request):
    return Run(rig, re.sub(r"\W", "_", request.node.name.removeprefix("test_")))


def undeclared(script):
    return re.sub("#SBATCH --(ckpt|requeue).*\n", "", script)


def assert_saved_by_signal(run, world, at_least=2):
    """Asserts that all ranks wrote the same checkpoints, and for no other reason than the clock's signal."""
    run.finish()
    saved = [one for one in run.events("checkpoint") if one["why"] not in ("end", "SIGTERM")]
    assert {one["why"] for one in saved} == {"SIGUSR1"}, run.story()
    for rank in range(world):
        assert [one["iteration"] for one in saved if one["rank"] == rank] == [one["iteration"] for one in saved if one["rank"] == 0]
    assert len(saved) >= at_least * world, run.story()


# -- the example scripts ---------------------------------------------------------------------------


@pytest.mark.parametrize("example, options, world, steps, most_lost", [
    ("srun", TWO_NODES, 4, 65, 0),
    ("torchrun", TWO_NODES_TORCHRUN, 4, 65, 0),
    ("elastic", TWO_NODES_TORCHRUN, 4, 65, 0),
    # Slurm tells the steps alone of the grace time, and ends the script after it.
    ("batch", ONE_NODE, 1, 200, INTERVAL + 0.5),
    ("batch-srun", TWO_NODES, 4, 65, 0),
])
def test_an_example_script_passes_the_signal_on_and_runs_again_when_preempted(run, example, options, world, steps, most_lost):
    run.submit(example, *options, steps=steps, trainer_options=OPTIONS)
    run.wait_for("checkpoint", why="SIGUSR1", count=2 * world)

    run.preempt()

    run.wait_for("start", attempt=1, rank=0)
    assert_saved_by_signal(run, world)
    assert run.lost()[0] <= most_lost, run.story()


# -- who gets it, and who does not -----------------------------------------------------------------


def test_workers_that_load_data_are_left_alone(run):
    run.submit("srun", *TWO_NODES, steps=60, trainer_options=f"{OPTIONS} --workers=2")

    assert_saved_by_signal(run, 4)


def test_workers_that_load_data_are_left_alone_where_slurm_would_signal_every_process(plugins):
    with training_rig(2, policy=POLICY, proctrack="linuxproc") as rig:
        run = Run(rig, "linuxproc").submit("srun", *TWO_NODES, steps=60, trainer_options=f"{OPTIONS} --workers=2")

        assert_saved_by_signal(run, 4)


def launched_by(launcher):
    """Puts `launcher`, in whose "$@" the trainer is, between srun and the trainer."""
    return lambda script: script.replace("python3 train.py", f"bash -c '{launcher}; exit $?' launcher python3 train.py")


@pytest.mark.parametrize("launcher", [
    pytest.param('"$@"', id="dies of it"),
    pytest.param('trap "" USR1; "$@"', id="ignores it"),
])
def test_a_launcher_that_does_not_catch_the_signal_is_looked_through(run, launcher):
    run.submit("srun", *TWO_NODES, steps=60, trainer_options=OPTIONS, edit=launched_by(launcher))

    assert_saved_by_signal(run, 4)


def test_a_launcher_that_swallows_the_signal_is_told_of(run):
    run.submit("srun", *TWO_NODES, steps=80, trainer_options=OPTIONS, edit=launched_by('trap : USR1; "$@"'))

    run.finish()
    assert not run.events("checkpoint", why="SIGUSR1")
    assert f'no checkpoint in "{run.folder}/checkpoints" for ' in run.job.output()


def test_one_rank_alone_gets_the_signal_where_the_user_says_so(run):
    run.submit("srun", *TWO_NODES, steps=60, trainer_options=f"{OPTIONS} --agree=rank0",
               edit=lambda script: script.replace("USR1@tasks", "USR1@rank0"))

    assert_saved_by_signal(run, 4)


@pytest.mark.parametrize("agree", ["all", "rank0"])
def test_ranks_that_hear_of_it_two_seconds_apart_write_the_same_step(run, agree):
    run.submit("srun", "-N2", "--gpus-per-node=2", "--ntasks-per-node=1", "--time=10", "--ckpt-interval=5", steps=80,
               trainer_options=f"{OPTIONS} --skew=2 --least=3 --agree={agree}")

    assert_saved_by_signal(run, 2, at_least=1)


def test_ranks_that_do_not_agree_write_checkpoints_of_mixed_steps(run):
    # What the two tests above guard against does happen.
    run.submit("srun", "-N2", "--gpus-per-node=2", "--ntasks-per-node=1", "--time=10", "--ckpt-interval=5", steps=400,
               trainer_options=f"{OPTIONS} --skew=2 --agree=none --timeout=4")

    run.rig.wait_job(run.job)
    assert not run.events("end"), run.story()


# -- requeue ---------------------------------------------------------------------------------------


def test_one_task_of_an_array_runs_again_and_not_the_whole_array(run, rig):
    own_folder = "mkdir -p $SLURM_ARRAY_TASK_ID && cp train.py $SLURM_ARRAY_TASK_ID && cd $SLURM_ARRAY_TASK_ID\n"
    run.submit("srun", "-N1", "--gpus-per-node=1", "--ntasks-per-node=1", "--time=10", "--array=0-1", "--exclusive", steps=150,
               trainer_options=OPTIONS, edit=lambda script: script.replace("# The number of", own_folder + "# The number of"))
    assert wait_until(lambda: all((run.folder / task / "checkpoints" / "events" / "0.0.jsonl").exists() for task in "01"), 30)
    # Of the task whose number is that of the array.
    task, nodes = next((info["ArrayTaskId"], info["NodeList"]) for info in rig.job_infos(run.job.id)
                       if info["JobId"] == str(run.job.id))

    run.preempt(nodes)

    def restarts():
        return {info["ArrayTaskId"]: info["Restarts"] for info in rig.job_infos(run.job.id)}
    assert wait_until(lambda: restarts()[task] == "1", 30), restarts()
    other = "0" if task == "1" else "1"
    assert restarts()[other] == "0"
    assert len(list((run.folder / other / "checkpoints" / "events").iterdir())) == 1


def test_a_trainer_that_has_no_commands_of_slurm_is_run_again(run, rig):
    # As in a container, where the image has neither scontrol nor a slurm.conf.
    run.submit("srun", *TWO_NODES, steps=60, trainer_options=OPTIONS,
               edit=lambda script: script.replace("python3 train.py", "env -u SLURM_CONF PATH=/nowhere /usr/bin/python3 train.py"))
    run.wait_for("step", iteration=20, rank=0)

    run.preempt()

    run.wait_for("start", attempt=1, rank=0)
    run.finish()


# -- those that take their time --------------------------------------------------------------------


def test_the_last_checkpoint_comes_before_the_time_limit(rig, long_runs):
    run = long_runs["limited"]
    run.finish(150)

    stop = run.events("stop", attempt=0, rank=0)[0]
    assert stop["why"] == "deadline", run.story()
    start = run.events("start", attempt=0, rank=0)[0]
    assert float(start["env"]["RAILHEAD_CKPT_DEADLINE"]) == pytest.approx(start["time"] + 120 - 62, abs=3)
    run.assert_one_history()
    assert run.lost()[0] == 0


def test_a_job_that_is_not_prepared_runs_to_its_time_limit_unharmed(rig, long_runs):
    run = long_runs["unprepared"]

    info = rig.wait_job(run.job, 120)

    assert info["JobState"] == "TIMEOUT" and info["Restarts"] == "0", run.story()
    steps = run.events("step")
    assert steps[-1]["time"] - steps[0]["time"] > 55, run.story()
