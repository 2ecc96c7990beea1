"""The watcher of checkpoints: a job's record, its end, and jobs that fail again and again.

The trainers are small scripts that write as frameworks do.  The watcher is started by the batch
script, its --end-fd a pipe that the script holds open, as the plugin holds one.
"""

import contextlib
import json
import re
import time
from pathlib import Path

import pytest

from conftest import BUILD, empty
from keeper import descendants, wait_until
from rig import Rig

HELPER = BUILD / "spank" / "railhead-ckpt"
RAILHEAD = BUILD / "cli" / "railhead"

# Descriptor 7 stays with the script and all that it starts; the watcher has the other end alone.
SCRIPT = """#!/bin/bash
mkfifo end.$SLURM_JOB_ID.$SLURM_RESTART_COUNT
{helper} watch --job $SLURM_JOB_ID --name $SLURM_JOB_NAME --dir "{folder}" --interval {interval} --cost 30 \\
    --restarts ${{SLURM_RESTART_COUNT:-0}} --attempts {attempts} --nodes $SLURM_JOB_NUM_NODES --end-fd 0 --hold \\
    --settle 0.5 --quiet 1.5 < end.$SLURM_JOB_ID.$SLURM_RESTART_COUNT &
exec 7> end.$SLURM_JOB_ID.$SLURM_RESTART_COUNT
rm end.$SLURM_JOB_ID.$SLURM_RESTART_COUNT
{trainer}
exec 7>&-
wait
"""

# One checkpoint each, with a pause between its first file and what says that it is complete.
LAYOUTS = {
    "Megatron": ("mkdir -p ckpt/iter_0000100/mp_rank_00; head -c 1000 /dev/zero > ckpt/iter_0000100/mp_rank_00/model_optim_rng.pt;"
                 "sleep 1; echo 100 > ckpt/latest_checkpointed_iteration.txt", "iter_0000100"),
    "DeepSpeed": ("mkdir ckpt/global_step10; head -c 1000 /dev/zero > ckpt/global_step10/mp_rank_00_model_states.pt;"
                  "sleep 1; printf global_step10 > ckpt/latest", "global_step10"),
    "PyTorch DCP": ("mkdir ckpt/step-100; head -c 1000 /dev/zero > ckpt/step-100/__0_0.distcp; sleep 1;"
                    "echo m > ckpt/step-100/.metadata.tmp; mv ckpt/step-100/.metadata.tmp ckpt/step-100/.metadata", "step-100"),
    "HF Trainer": ("mkdir ckpt/checkpoint-100; head -c 1000 /dev/zero > ckpt/checkpoint-100/model.safetensors; sleep 1;"
                   "echo '{}' > ckpt/checkpoint-100/trainer_state.json", "checkpoint-100"),
    "NeMo": ("touch ckpt/gpt--step=5-last-unfinished; mkdir -p ckpt/gpt--step=5-last/weights;"
             "head -c 1000 /dev/zero > ckpt/gpt--step=5-last/weights/__0_0.distcp; sleep 1;"
             "echo '{}' > ckpt/gpt--step=5-last/weights/metadata.json; rm ckpt/gpt--step=5-last-unfinished", "gpt--step=5-last"),
    "Lightning": ("python3 -c 'import time, zipfile; z = zipfile.ZipFile(\"ckpt/step=5.ckpt\", \"w\");"
                  " z.writestr(\"data\", bytes(1000)); z.fp.flush(); time.sleep(1); z.close()'", "step=5.ckpt"),
    "plain": ("head -c 1000 /dev/zero > ckpt/model.bin.tmp; sleep 1; mv ckpt/model.bin.tmp ckpt/model.bin", "model.bin"),
}


@pytest.fixture(scope="module")
def shared():
    for program in (HELPER, RAILHEAD):
        if not program.exists():
            pytest.skip(f"{program} is not built")
    partitions = "\n".join([
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1",
        "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10"])
    with Rig(2, gpus=0, partitions=partitions,
             extra="SlurmdTimeout=5\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE") as rig:
        yield rig


@pytest.fixture
def rig(shared):
    shared.run("rm -rf ckpt .local; mkdir ckpt")
    yield shared
    shared.run(["scancel", f"--user={shared.user}"], user="root", check=False)
    shared.revive_nodes()
    empty(shared)


def submit(rig, trainer, *options, interval=0, attempts=0, folder="ckpt"):
    script = SCRIPT.format(helper=HELPER, trainer=trainer, interval=interval, attempts=attempts, folder=folder)
    return rig.sbatch(script, "-J", "train", "--open-mode=append", *options)


def record(rig, job):
    path = rig.work / ".local" / "state" / "railhead" / "jobs" / f"{job.id}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def status(rig, job, *options, **more):
    return json.loads(rig.run([RAILHEAD, "ckpt", "status", str(job.id), "--json", *options], **more).stdout)


def start_now(rig, job):
    """A requeued job waits for two minutes: not here."""
    assert wait_until(lambda: rig.job_info(job)["JobState"] == "PENDING", 60, 0.2), rig.job_info(job)
    rig.run(["scontrol", "update", f"JobId={job.id}", "StartTime=now"])


# -- what is seen -----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_checkpoint_of_each_framework_is_seen_with_what_it_took(rig, layout):
    write, name = LAYOUTS[layout]
    job = submit(rig, f"sleep 0.5; {write}; sleep 2")
    assert rig.wait_job(job)["JobState"] == "COMPLETED"

    seen = record(rig, job)
    assert [(one["name"], one["layout"]) for one in seen["latest"]] == [(name, layout)], job.output()
    assert seen["latest"][0]["bytes"] >= 1000
    assert 0.9 < seen["latest"][0]["write_s"] < 2.5
    assert re.search(r"railhead: job \d+: 1 checkpoint complete, mean write time \d", job.output())


def test_what_is_not_finished_is_named_and_does_not_count(rig):
    job = submit(rig, "mkdir ckpt/step-1; head -c 9 /dev/zero > ckpt/step-1/__0_0.distcp; sleep 3")
    rig.wait_job(job)

    assert record(rig, job)["checkpoints"] == 0
    assert 'railhead: checkpoint "step-1" is not complete: it has no .metadata' in job.output()
    assert "0 checkpoints complete" in job.output()


def test_a_folder_that_the_job_makes_has_its_first_checkpoint_counted(rig):
    write, _ = LAYOUTS["PyTorch DCP"]
    second = write.replace("step-100", "step-200")
    job = submit(rig, f"rmdir ckpt; sleep 2; mkdir ckpt; {write}; sleep 0.7; rm -r ckpt/step-100; {second}; sleep 1")
    rig.wait_job(job)

    assert [one["name"] for one in record(rig, job)["latest"]] == ["step-100", "step-200"], job.output()


def test_a_folder_that_cannot_be_opened_is_told_with_the_reason(rig):
    job = submit(rig, "sleep 1", folder="/dev/null")
    rig.wait_job(job)

    why = 'cannot open the folder "/dev/null": Not a directory'
    assert job.output().count(f"railhead: the checkpoints are not watched: {why}") == 1
    assert status(rig, job)["trouble"] == why


def test_a_checkpoint_that_does_not_come_is_told_once(rig):
    job = submit(rig, "sleep 5", interval=1)
    rig.wait_job(job)

    assert job.output().count('railhead: no checkpoint in "ckpt" for ') == 1


def test_the_next_job_of_that_name_can_reckon_with_the_cost(rig):
    write, _ = LAYOUTS["PyTorch DCP"]
    rig.wait_job(submit(rig, f"{write}; sleep 1"))

    history = json.loads((rig.work / ".local" / "state" / "railhead" / "history.json").read_text())
    assert [job["name"] for job in history["jobs"]] == ["train"]
    assert 0.9 < history["jobs"][0]["costs"][0]["cost_s"] < 2.5


def test_the_status_is_ones_own_and_roots(rig):
    write, _ = LAYOUTS["PyTorch DCP"]
    job = submit(rig, f"{write}; sleep 1")
    rig.wait_job(job)

    assert status(rig, job)["checkpoints"] == 1
    # The rig's user has its home elsewhere than the account says, so root finds no record there.
    text = rig.run([RAILHEAD, "ckpt", "status", str(job.id), "--user", rig.user], user="root", check=False)
    assert "no record of job" in text.stderr
    refused = rig.run([RAILHEAD, "ckpt", "status", str(job.id), "--user", "root"], check=False)
    assert refused.returncode == 2 and "only root may look" in refused.stderr


def test_the_watcher_ends_with_the_tasks(rig):
    job = submit(rig, "sleep 1; exec 7>&-; begun=$(date +%s%N); wait; echo waited $((($(date +%s%N) - begun) / 1000000))")
    rig.wait_job(job)

    assert int(re.search(r"waited (\d+)", job.output())[1]) < 1000


# -- attempts ---------------------------------------------------------------------------------


def test_a_job_whose_node_dies_again_and_again_is_held_with_a_reason(rig):
    job = submit(rig, "sleep 300", "--requeue", attempts=2)
    for attempt in range(2):
        rig.wait_job(job, states={"RUNNING"})
        assert wait_until(lambda: len(record(rig, job).get("attempts", [])) == attempt + 1, 20), job.output()
        held = wait_until(lambda: rig.job_info(job)["Priority"] == "0", 5) if attempt else False
        assert held == bool(attempt)
        assert rig.job_info(job)["JobState"] == "RUNNING"  # a hold stops nobody who runs
        node = rig.job_info(job)["BatchHost"]
        # It stays dead, so the next attempt is on the other one: slurmctld's message to end the job on a
        # node that is back at once would end the new attempt.
        rig.kill_node(node)
        assert wait_until(lambda: rig.job_info(job)["JobState"] == "PENDING", 120, 0.2), rig.job_info(job)
        if not attempt:
            start_now(rig, job)

    info = rig.job_info(job)
    assert info["Reason"] == "JobHeldUser" and info["Restarts"] == "2"
    assert "1 attempt in a row failed before a checkpoint" in info["Comment"]
    assert status(rig, job)["held"] is True
    assert "railhead: 1 attempt in a row failed" in job.output()
    rig.revive_nodes()
    rig.run(["scontrol", "update", f"JobId={job.id}", "StartTime=now"])
    time.sleep(4)
    assert rig.job_info(job)["JobState"] == "PENDING"  # it waits for a person
    rig.run(["scontrol", "release", str(job.id)])
    rig.wait_job(job, states={"RUNNING"})


def test_a_good_checkpoint_frees_a_job_that_is_held(rig):
    write, _ = LAYOUTS["PyTorch DCP"]
    job = submit(rig, f"sleep 4; {write}; sleep 300", "--requeue", "--comment=mine", attempts=1)
    rig.wait_job(job, states={"RUNNING"})

    assert wait_until(lambda: rig.job_info(job)["Priority"] == "0", 10), job.output()
    assert wait_until(lambda: rig.job_info(job)["Comment"].startswith("mine; railhead: "), 10)
    assert wait_until(lambda: rig.job_info(job)["Priority"] != "0", 20), job.output()
    assert wait_until(lambda: rig.job_info(job)["Comment"] == "mine", 10)
    assert status(rig, job)["held"] is False


def test_preemptions_do_not_count(rig):
    job = submit(rig, "sleep 300", "-N2", "--exclusive", "--requeue", attempts=2)
    for attempt in range(2):
        rig.wait_job(job, states={"RUNNING"})
        assert wait_until(lambda: len(record(rig, job).get("attempts", [])) == attempt + 1, 20), job.output()
        urgent = rig.sbatch("#!/bin/sh\nsleep 2\n", "-N2", "-p", "urgent", "--exclusive")
        assert wait_until(lambda: rig.job_info(job)["JobState"] != "RUNNING", 20)
        rig.wait_job(urgent)
        start_now(rig, job)
    rig.wait_job(job, states={"RUNNING"})
    assert wait_until(lambda: len(record(rig, job)["attempts"]) == 3, 20)
    time.sleep(1)

    assert rig.job_info(job)["Priority"] != "0"
    assert [one["cause"] for one in record(rig, job)["attempts"]] == ["requeued", "requeued", "unknown"]


def test_another_nodes_death_is_told_from_a_preemption(rig):
    job = submit(rig, "sleep 300", "-N2", "--exclusive", "--requeue", attempts=9)
    rig.wait_job(job, states={"RUNNING"})
    assert wait_until(lambda: record(rig, job), 20)
    other = next(name for name in rig.names if name != rig.job_info(job)["BatchHost"])
    rig.kill_node(other)
    assert wait_until(lambda: rig.job_info(job)["JobState"] == "PENDING", 60, 0.2), rig.job_info(job)
    assert record(rig, job)["attempts"][0]["cause"] == "node"


def test_a_node_that_is_back_at_once_is_told_from_a_preemption(rig):
    job = submit(rig, "srun sleep 300", "-N2", "--exclusive", "--requeue", attempts=9)
    node = rig.wait_job(job, states={"RUNNING"})["BatchHost"]
    assert wait_until(lambda: record(rig, job), 20)
    time.sleep(1)
    rig.run(f"scontrol update NodeName={node} State=DOWN Reason=away; scontrol update NodeName={node} State=RESUME",
            user="root")
    assert wait_until(lambda: rig.job_info(job)["JobState"] == "PENDING", 60, 0.2), rig.job_info(job)
    assert wait_until(lambda: record(rig, job)["attempts"][0]["cause"] == "node", 10), record(rig, job)["attempts"]


# -- started by the plugin ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def launching(plugins):
    if not HELPER.exists():
        pytest.skip(f"{HELPER} is not built")
    plugstack = f"optional {{plugins}}/spank_railhead.so helper={HELPER} cache={{run}}/railhead\n"
    with Rig(4, gpus=0, plugins=plugins, plugstack=plugstack) as rig:
        yield rig


def watchers(rig):
    """The command lines of the watchers that run in this cluster."""
    lines = []
    for pid in descendants(rig.keeper.pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if words[0].endswith("railhead-ckpt") and words[1:2] == ["watch"]:
                lines.append(words)
    return lines


@pytest.mark.parametrize("start", ["sbatch", "srun"])
def test_a_job_of_four_nodes_has_one_watcher(launching, start):
    launching.run("rm -rf ckpt .local; mkdir ckpt")
    words = ["-N4", "--ckpt-dir=ckpt"]
    if start == "sbatch":
        job = launching.sbatch("#!/bin/sh\nsrun sleep 3 & srun --overlap sleep 3; wait\n", *words)
    else:
        step = launching.popen(["srun", *words, "sleep", "3"])
    seen = []
    assert wait_until(lambda: watchers(launching), 20)
    time.sleep(0.2)  # the process that starts it has its command line for a moment
    for _ in range(20):
        seen.append(len(watchers(launching)))
        time.sleep(0.1)

    assert max(seen) == 1
    if start == "sbatch":
        launching.wait_job(job)
        assert "0 checkpoints complete" in job.output()
    else:
        assert step.wait(30) == 0
    assert wait_until(lambda: not watchers(launching), 5)


@pytest.mark.parametrize("steps", ["salloc", "another environment"])
def test_steps_at_once_have_one_watcher_that_writes(launching, steps):
    launching.run("rm -rf ckpt .local; mkdir ckpt")
    if steps == "salloc":
        done = launching.run(["salloc", "-N2", "--ckpt-dir=ckpt", "sh", "-c",
                              "srun -N2 sleep 2 & srun -N2 --overlap sleep 2; wait"])
        output = done.stdout + done.stderr
    else:
        job = launching.sbatch("#!/bin/sh\nsrun --export=HOME,PATH --ckpt-dir=ckpt sleep 2\n", "-N2", "--ckpt-dir=ckpt")
        launching.wait_job(job)
        output = job.output()

    assert output.count("0 checkpoints complete") == 1, output


def test_a_script_that_requeues_itself_behind_a_failed_step_is_held(launching):
    launching.run("rm -rf ckpt .local; mkdir ckpt")
    job = launching.sbatch("#!/bin/sh\nsrun false || scontrol requeue $SLURM_JOB_ID; sleep 60\n",
                           "-N1", "--requeue", "--ckpt-dir=ckpt", "-J", "loop")

    def held():  # asked again: while its node is not done with an attempt, slurmctld puts off the start anew
        launching.run(["scontrol", "update", f"JobId={job.id}", "StartTime=now"], check=False)
        return launching.job_info(job)["Reason"] == "JobHeldUser"
    assert wait_until(held, 120, 2), (launching.job_info(job), record(launching, job))

    assert len(record(launching, job)["attempts"]) == 3
    assert [one["cause"] for one in record(launching, job)["attempts"][:2]] == ["failed", "failed"]
    launching.run(["scancel", str(job.id)])


@pytest.mark.parametrize("named", ["option", "script", "environment"])
def test_what_a_checkpoint_took_goes_along_with_the_next_job_of_that_name(launching, named):
    launching.run("rm -rf ckpt .local; mkdir ckpt")
    write, _ = LAYOUTS["PyTorch DCP"]
    first = launching.sbatch(f"#!/bin/sh\n#SBATCH -J train\n{write}\nsleep 1\n", "-N2", "--ckpt-dir=ckpt")
    launching.wait_job(first)
    assert "1 checkpoint complete" in first.output()

    say = "env | grep RAILHEAD_CKPT | sort\n"
    options = {"option": (["-J", "train"], "", {}), "script": ([], "#SBATCH --job-name=train\n", {}),
               "environment": ([], "", {"SBATCH_JOB_NAME": "train"})}[named]
    second = launching.sbatch(f"#!/bin/sh\n{options[1]}{say}", "-N2", *options[0], env=options[2])
    other = launching.sbatch(f"#!/bin/sh\n{say}", "-N2", "-J", "other")
    own = launching.sbatch(f"#!/bin/sh\n{say}", "-N2", "-J", "train", env={"RAILHEAD_CKPT_COST": "77"})
    for job in (second, other, own):
        launching.wait_job(job)

    cost = re.search(r"RAILHEAD_CKPT_COST=(.*)", second.output())
    assert cost and 0.9 < float(cost[1]) < 2.5, second.output()
    assert "RAILHEAD_CKPT_COST" not in other.output()
    assert "RAILHEAD_CKPT_COST=77\n" in own.output()


def test_a_damaged_history_refuses_nobody(launching):
    launching.run("rm -rf .local; mkdir -p -m 700 .local/state/railhead; echo '{' > .local/state/railhead/history.json")
    job = launching.sbatch("#!/bin/sh\ntrue\n", "-J", "train")
    assert launching.wait_job(job)["JobState"] == "COMPLETED"
    assert job.stderr == ""
