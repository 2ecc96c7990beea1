"""What steps are told of checkpoints at launch, on real daemons."""

import pwd
import re
import time

import pytest

from clocked import LINE, catch, clocked_rig, reports, srun, start  # noqa: F401
from conftest import empty
from rig import CommandError

TOLD = {"INTERVAL", "FROM", "MTBF", "LEAD", "DEADLINE", "RESTARTS", "RATE"}
DAYS = 86400
RATE = 6.5  # failures per 1000 node-days where nobody knows better (RSC-1)


@pytest.fixture(scope="module")
def launch(plugins):
    with clocked_rig(4) as rig:
        yield rig


@pytest.fixture
def rig(launch):
    yield launch
    empty(launch)
    reports(launch)  # those that a test left


def told(report):
    """The variables of checkpoints, without their prefix; those that are Railhead's notes to itself left out."""
    return {name.removeprefix("RAILHEAD_CKPT_"): value for name, value in report["env"].items()
            if name.startswith("RAILHEAD_CKPT_") and not name.endswith(("JOB_END", "WATCHED"))}


def mtbf(nodes, rate=RATE):
    return round(1000 * DAYS / rate / nodes)


def end_of(rig, job):
    when = rig.job_info(job)["EndTime"]
    return time.mktime(time.strptime(when, "%Y-%m-%dT%H:%M:%S"))


def batch(rig, commands, *options, env=None, check=True):
    """Runs a script, where CATCH stands for the program; returns (its reports, the job)."""
    job = rig.sbatch("#!/bin/sh\n" + commands.replace("CATCH", str(catch(rig))) + "\n", *options, env=env)
    info = rig.wait_job(job)
    assert not check or info["JobState"] == "COMPLETED", job.output()
    return reports(rig), job


# -- who is told ------------------------------------------------------------------------------


def test_a_job_that_says_nothing_is_told_nothing(rig):
    found, said = srun(rig, "0", options=["-N2"])
    assert [told(report) for report in found] == [{}, {}]
    assert said == ""


@pytest.mark.parametrize("options, env", [(["--ckpt-interval=auto"], {}), ([], {"RAILHEAD_CKPT_INTERVAL": "auto"})])
def test_a_step_is_told_by_the_nodes_that_it_has(rig, options, env):
    four, _ = srun(rig, "0", options=["-N4", "-t10", *options], env=env)
    one, _ = srun(rig, "0", options=["-N1", "-t10", *options], env=env)
    assert len(four) == 4
    assert len({tuple(sorted(told(report).items())) for report in four}) == 1
    four, one = told(four[0]), told(one[0])
    assert set(four) == TOLD
    assert (int(four["MTBF"]), int(one["MTBF"])) == (mtbf(4), mtbf(1))
    assert int(four["INTERVAL"]) < int(one["INTERVAL"])
    assert four["FROM"] == "default" and four["RESTARTS"] == "0"


def test_the_users_interval_and_cost_are_kept(rig):
    report, = srun(rig, "0", options=["-N1", "--ckpt-interval=30m"], env={"RAILHEAD_CKPT_COST": "100", "RAILHEAD_CKPT_STEP": "5"})[0]
    assert told(report)["INTERVAL"] == "1800"
    assert told(report)["FROM"] == "user"
    assert told(report)["LEAD"] == str(100 + 5 + 60)
    assert told(report)["COST"] == "100"


def test_off_turns_all_of_it_off(rig):
    found, said = srun(rig, "0", options=["-N1", "--railhead=off", "--ckpt-interval=30m", "--ckpt-signal=USR1"])
    assert told(found[0]) == {} and said == ""
    found, _ = batch(rig, "RAILHEAD=off srun -N1 CATCH 0", "-N2", "--ckpt-interval=auto")
    assert told(found[0]) == {}


@pytest.mark.parametrize("command", ["srun", "sbatch", "salloc"])
@pytest.mark.parametrize("option, env, message", [
    ("--ckpt-interval=soon", {}, "--ckpt-interval=soon: takes auto or a time"),
    ("--ckpt-signal=KILL", {}, "--ckpt-signal=KILL: takes a signal that can be caught"),
    ("--ckpt-signal=USR1@all", {}, "--ckpt-signal=USR1@all: takes"),
    ("-N1", {"RAILHEAD_CKPT_INTERVAL": "0"}, "RAILHEAD_CKPT_INTERVAL=0: takes"),
    ("-N1", {"RAILHEAD_CKPT_SIGNAL": "FOO"}, "RAILHEAD_CKPT_SIGNAL=FOO: takes")])
def test_a_wrong_value_is_refused_while_the_user_looks(rig, command, option, env, message):
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    with pytest.raises(CommandError) as refused:
        rig.run([command, option, *tail], env=env)
    assert message in refused.value.stderr


# -- steps within jobs ------------------------------------------------------------------------


def test_the_batch_step_is_told_for_the_job_and_each_step_for_itself(rig):
    found, job = batch(rig, "CATCH 0; srun -N1 CATCH 0; srun -N4 -n4 CATCH 0", "-N4", "-t10", "--ckpt-interval=auto")
    outer = [told(report) for report in found if report["step"] == "batch"]
    one = [told(report) for report in found if report["step"] == "0"]
    four = [told(report) for report in found if report["step"] == "1"]
    assert [int(report["MTBF"]) for report in outer + one + four] == [mtbf(4), mtbf(1), *[mtbf(4)] * 4], job.output()
    # Its value went through the environment of the batch script, and is not taken for a wish.
    assert {report["FROM"] for report in outer + one + four} == {"default"}
    assert four[0]["INTERVAL"] == outer[0]["INTERVAL"] != one[0]["INTERVAL"]


def test_the_steps_of_salloc_are_told(rig):
    rig.run(["salloc", "-N2", "-t10", "--ckpt-interval=auto", "srun", catch(rig), "0"])
    found = reports(rig)
    assert [int(told(report)["MTBF"]) for report in found] == [mtbf(2)] * 2
    assert all("DEADLINE" in told(report) for report in found)


def test_a_users_interval_stays_the_users_in_every_step(rig):
    found, _ = batch(rig, "CATCH 0; srun -N1 CATCH 0", "-N2", env={"RAILHEAD_CKPT_INTERVAL": "1800"})
    assert {(told(report)["INTERVAL"], told(report)["FROM"]) for report in found} == {("1800", "user")}


@pytest.mark.parametrize("options, env", [(["--ckpt-interval=auto"], {}), ([], {"RAILHEAD_CKPT_INTERVAL": "auto"})])
def test_a_job_submitted_from_within_a_job_inherits_no_wish(rig, options, env):
    inner = f"sbatch --wait -N1 -t20 --output=/dev/null --wrap '{catch(rig)} 0'"
    found, _ = batch(rig, f"CATCH 0; {inner}", "-N2", "-t10", *options, env=env)
    assert sorted(len(told(report)) > 0 for report in found) == [False, True]


@pytest.mark.parametrize("options, env", [(["--ckpt-interval=auto"], {}), ([], {"RAILHEAD_CKPT_INTERVAL": "auto"})])
def test_a_job_submitted_from_within_a_job_that_has_a_wish_too_is_told_anew(rig, options, env):
    inner = f"sbatch --wait -N1 -t20 --ckpt-interval=auto --output=/dev/null --wrap '{catch(rig)} 0'"
    found, _ = batch(rig, f"CATCH 0; {inner}", "-N2", "-t10", *options, env=env)
    outer, inner = sorted((told(report) for report in found), key=lambda report: int(report["MTBF"]))
    assert (int(outer["MTBF"]), int(inner["MTBF"])) == (mtbf(2), mtbf(1))
    assert int(inner["DEADLINE"]) >= int(outer["DEADLINE"]) + 600


def test_a_step_within_another_jobs_allocation_is_told_of_its_own(rig):
    # srun makes a job of its own where no job is around it.
    inner = f"env -u SLURM_JOB_ID -u SLURM_JOBID srun -N1 -n1 -t20 --ckpt-interval=auto {catch(rig)} 0"
    found, _ = batch(rig, f"CATCH 0; {inner}", "-N2", "-t10", "--ckpt-interval=auto")
    outer, inner = sorted((told(report) for report in found), key=lambda report: int(report["MTBF"]))
    assert int(inner["DEADLINE"]) >= int(outer["DEADLINE"]) + 600


def test_a_restart_is_counted(start):
    rig = start(1, node_timeout=30)  # a requeued job starts soon
    commands = "CATCH 0; srun -N1 CATCH 0; [ -n \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 30; }"
    found, job = batch(rig, commands, "-N1", "--requeue", "--ckpt-interval=auto")
    # The batch script and its step, of each attempt.
    assert sorted(told(report)["RESTARTS"] for report in found) == ["0", "0", "1", "1"], job.output()


# -- the end of the job -----------------------------------------------------------------------


def test_the_deadline_is_the_lead_before_the_end(rig):
    found, job = batch(rig, "CATCH 0; srun -N2 CATCH 0; scontrol -o show job $SLURM_JOB_ID", "-N2", "-t10", "--ckpt-interval=auto")
    end = time.mktime(time.strptime(re.search(r"EndTime=(\S+)", job.output())[1], "%Y-%m-%dT%H:%M:%S"))
    for report in found:
        assert int(told(report)["DEADLINE"]) == end - int(told(report)["LEAD"])


def test_a_job_without_a_limit_has_no_deadline(rig):
    found, _ = srun(rig, "0", options=["-N1", "--time=UNLIMITED", "--ckpt-interval=auto"])
    assert "DEADLINE" not in told(found[0])


def test_the_end_is_asked_once_a_job_and_never_by_a_node(start):
    rig = start(4, extra="SlurmctldDebug=debug2")
    def asked():
        user = pwd.getpwnam(rig.user).pw_uid
        return len(re.findall(rf"REQUEST_JOB_INFO_SINGLE from UID={user}\b", rig.log("slurmctld")))
    has_variable = rig.version >= (23, 2)  # SLURM_JOB_END_TIME
    before = asked()
    batch(rig, "srun -N4 CATCH 0; srun -N4 CATCH 0", "-N4", "-t10", "--ckpt-interval=auto")
    once = asked() - before
    assert once == (0 if has_variable else 1)
    srun(rig, "0", options=["-N4", "-t10", "--ckpt-interval=auto"])
    assert asked() - before - once in ([0, 1] if has_variable else [1])
    twice = asked()
    batch(rig, "srun -N4 CATCH 0", "-N4", "-t10")
    assert asked() == twice


# -- the site ---------------------------------------------------------------------------------


def test_the_policy_of_the_node_gives_rate_and_cost(start):
    rig = start(2, policy='[checkpoint]\nmode = "enforce"\nfailures = 20\ncost = "2m"\nstep = "10s"\n')
    found, _ = srun(rig, "0", options=["-N2", "--ckpt-interval=auto"])
    assert told(found[0])["FROM"] == "policy"
    assert int(told(found[0])["MTBF"]) == mtbf(2, 20)
    assert told(found[0])["LEAD"] == str(120 + 10 + 60)


def test_a_missing_or_foreign_helper_is_not_run(start):
    rig = start(1, line=LINE.replace("helper=", "helper=/nonexistent"))
    found, said = srun(rig, "3", options=["-N1", "--ckpt-signal=USR1", "--ckpt-interval=1"])
    assert found[0]["got"] == [] and said == ""
    assert "no checkpoint clock and no watcher: /nonexistent" in rig.log("n01")
