"""What the checkpoint rule makes of batch jobs, on a real controller.

Slurm shows no job's --signal, so it is seen where it arrives: at preemption, which is asked to send it.
"""

import json
import re

import pytest

from conftest import BUILD, empty
from keeper import wait_until

GANG = ["--gres=gpu:8", "-N2", "-n2", "--time=60"]
USR1 = {"RAILHEAD_CKPT_SIGNAL": "USR1"}
AUTO = {"RAILHEAD_CKPT_INTERVAL": "auto"}  # declares; the signal is the policy's

# JobRequeue=0: what is requeued was asked to be.
PREEMPTION = """JobRequeue=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
"""
PARTITIONS = """PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""

# The strictest that there is: jobs that declare nothing stay as they are all the same.
STRICT = """notes = "all"
[checkpoint]
mode = "enforce"
cost = 1
step = 1
signal = "USR1"
declares = "RESUME"
long_interval = "refuse"
[[rule]]
name = "refuses"
match = { account = "refuse" }
checkpoint = { undeclared = "refuse", declare_above = 1 }
[[rule]]
name = "caps"
match = { account = "cap" }
checkpoint = { undeclared = "cap", declare_above = 1, undeclared_time = "30m" }
"""

SHOW = "#!/bin/bash\nenv | grep ^RAILHEAD_CKPT_ | sort\n"


@pytest.fixture(scope="module")
def rig(plugins):
    from conftest import railhead_rig
    with railhead_rig(4, proctrack="cgroup", extra=PREEMPTION, partitions=PARTITIONS, policy=STRICT) as rig:
        yield rig


@pytest.fixture
def cluster(rig):
    yield rig
    empty(rig)


def told(output):
    return dict(line.split("=", 1) for line in output.splitlines() if line.startswith("RAILHEAD_CKPT_"))


def run(cluster, script, *options, env=None):
    job = cluster.sbatch(script, *options, env=env)
    info = cluster.wait_job(job)
    assert info["JobState"] == "COMPLETED", info
    return info, job.output(), job.stderr


def test_a_batch_job_finds_its_interval_and_so_do_its_steps(cluster):
    show = "test $SLURM_PROCID = 1 || env | grep ^RAILHEAD_CKPT_ | sort"  # of one rank
    script = SHOW + f"echo ----\nsrun -n2 -N2 sh -c '{show}'\n"
    _, output, _ = run(cluster, script, *GANG)
    batch, _, step = output.partition("----\n")

    values = told(batch)
    # 1000 node-days / 6.5 for two nodes; about sqrt(2 x 1 s x MTBF).
    assert values["RAILHEAD_CKPT_MTBF"] == "6646154"
    assert 3600 <= int(values["RAILHEAD_CKPT_INTERVAL"]) <= 3660
    assert values["RAILHEAD_CKPT_LEAD"] == "62"
    assert values["RAILHEAD_CKPT_FROM"] == "policy"
    assert values["RAILHEAD_CKPT_COST"] == values["RAILHEAD_CKPT_STEP"] == "1"
    assert values.items() <= told(step).items()


def test_what_the_user_says_of_cost_and_interval_holds(cluster):
    env = {"RAILHEAD_CKPT_INTERVAL": "30m", "RAILHEAD_CKPT_COST": "10", "RAILHEAD_CKPT_LEAD": "1"}
    _, output, _ = run(cluster, SHOW, *GANG, env=env)
    values = told(output)
    assert values["RAILHEAD_CKPT_INTERVAL"] == "1800"
    assert values["RAILHEAD_CKPT_FROM"] == "user"
    assert values["RAILHEAD_CKPT_COST"] == "10"
    assert values["RAILHEAD_CKPT_LEAD"] == "71"


@pytest.mark.parametrize("env,kept", [
    (USR1, True), ({"RAILHEAD_CKPT_INTERVAL": "auto"}, True), ({"RESUME": "1"}, True), ({}, False),
], ids=["signal", "interval", "listed variable", "undeclared"])
def test_a_job_that_declares_may_be_requeued_and_keeps_its_output(cluster, env, kept):
    output = cluster.work / "kept.out"
    output.write_text("run 0\n")
    output.chmod(0o666)
    info, _, told_user = run(cluster, "#!/bin/bash\n#SBATCH --output=kept.out\necho run 1\n", *GANG, env=env)
    text = output.read_text()
    output.unlink()
    assert text == ("run 0\nrun 1\n" if kept else "run 1\n")
    assert info["Requeue"] == ("1" if kept else "0")
    assert ("can checkpoint and resume" in told_user) == kept


def test_a_job_that_declares_nothing_is_left_as_stock_slurm_has_it(cluster):
    script = SHOW + "srun true\n"

    def fields(env):
        info, output, _ = run(cluster, script, *GANG, env=env)
        unlike = {"JobId", "SubmitTime", "EligibleTime", "StartTime", "EndTime", "AccrueTime", "LastSchedEval",
                  "Command", "StdOut", "StdErr", "RunTime", "JobName", "Priority", "SuspendTime",
                  "PreemptEligibleTime", "AllocNode:Sid", "NodeList", "BatchHost", "Scheduler",
                  "SubmitLine"}
        return {key: value for key, value in info.items() if key not in unlike}, told(output)
    stock, nothing = fields({"RAILHEAD": "off"})
    ours, variables = fields({})
    assert nothing == {}
    assert variables
    assert ours == stock


def preempt(cluster, script, *options, env=None):
    """Runs a job on all nodes until another one takes them; returns what it wrote."""
    low = cluster.sbatch(script, "-p", "low", "--gres=gpu:8", "-N4", "-n4", "--time=60", *options, env=env)
    cluster.wait_job(low, states={"RUNNING"})
    assert wait_until(lambda: "ready" in low.output(), 30, 0.1), low.output()
    high = cluster.sbatch("#!/bin/bash\ntrue\n", "-p", "high", "--gres=gpu:8", "-N4", "--time=1",
                          env={"RAILHEAD": "off"})
    cluster.wait_job(high, timeout=90)
    return low.output(), low.stderr


TRAPS = """#!/bin/bash
trap 'echo script got USR1; exit 0' USR1
trap 'echo script got USR2; exit 0' USR2
trap 'echo script got TERM; exit 0' TERM
echo ready
sleep 100 & wait
"""
IN_STEPS = r"""#!/bin/bash
trap 'echo script got USR1' USR1
srun --unbuffered -n4 -N4 python3 -c '
import os, signal, sys, time
def save(number, frame):
    print("task got", signal.Signals(number).name, flush=True)
    sys.exit(0)
for number in signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM:
    signal.signal(number, save)
print("ready", flush=True)
time.sleep(100)'
"""


@pytest.mark.parametrize("script,options,env,expected,unexpected", [
    (TRAPS, [], AUTO, "script got USR1", "TERM"),
    (TRAPS, [], {"RESUME": "1"}, "script got USR1", "TERM"),
    (TRAPS, ["--signal=B:USR2@10"], AUTO, "script got USR2", "USR1"),
    (IN_STEPS, [], AUTO, "task got SIGUSR1", "script got"),
    (IN_STEPS, [], {}, "task got SIGTERM", "USR"),
    # The clock's business, which this cluster has not.
    (IN_STEPS, [], {"RAILHEAD_CKPT_SIGNAL": "USR2@tasks"}, "task got SIGTERM", "USR"),
], ids=["script with a trap", "by a listed variable", "own --signal", "tasks", "undeclared", "--ckpt-signal"])
def test_the_signal_reaches_who_saves_and_nobody_who_did_not_declare(cluster, script, options, env, expected, unexpected):
    output, told_user = preempt(cluster, script, *options, env=env)
    assert expected in output, (output, told_user)
    assert unexpected not in output, (output, told_user)


def test_no_requeue_is_kept(cluster):
    job = cluster.sbatch(SHOW, *GANG, "--no-requeue", "--hold", env=USR1)
    assert cluster.job_info(job)["Requeue"] == "0"
    assert "--requeue" not in job.stderr and "--open-mode" not in job.stderr


def test_a_large_job_that_does_not_declare_is_refused_or_cut_short(cluster):
    refused = cluster.sbatch(SHOW, *GANG, "-A", "refuse", check=False)
    assert refused.id is None
    assert "railhead: refused: 2 nodes fail every 76 d 22 h, and this job does not say" in refused.stderr
    declared = cluster.sbatch(SHOW, *GANG, "-A", "refuse", "--hold", env=USR1)
    assert declared.id is not None
    capped = cluster.sbatch(SHOW, *GANG, "-A", "cap", "--time-min=50", "--hold")
    info = cluster.job_info(capped)
    assert info["TimeLimit"] == "00:30:00" and info["Requeue"] == "0", info
    short = cluster.sbatch(SHOW, "--gres=gpu:8", "-N2", "--time=20", "-A", "cap", "--hold")
    assert cluster.job_info(short)["TimeLimit"] == "00:20:00"
    assert cluster.sbatch(SHOW, "--gres=gpu:8", "-N1", "--time=60", "-A", "refuse", "--hold").id is not None


def test_an_interval_that_is_too_long_is_refused_with_the_arithmetic(cluster):
    job = cluster.sbatch(SHOW, *GANG, env={"RAILHEAD_CKPT_INTERVAL": "1d"}, check=False)
    assert job.id is None
    assert re.search(r"refused: an interval of 24 h loses [\d.]+ %, one of 1 h( \d+ min)? [\d.]+ %: 2 nodes fail", job.stderr)


def test_each_task_of_an_array_is_told(cluster):
    job = cluster.sbatch("#!/bin/bash\n#SBATCH -o array-%a.out\nenv | grep ^RAILHEAD_CKPT_INTERVAL\n", *GANG,
                         "--array=0-1", env=USR1)
    assert wait_until(lambda: {info["JobState"] for info in cluster.job_infos(job)} == {"COMPLETED"}, 60, 0.2)
    assert {info["Requeue"] for info in cluster.job_infos(job)} == {"1"}
    for task in 0, 1:
        assert told((cluster.work / f"array-{task}.out").read_text())


def test_the_components_of_a_heterogeneous_job_are_requeued_together_and_told_once(cluster):
    script = ("#!/bin/bash\n#SBATCH --gres=gpu:8 -N2 --time=60\n#SBATCH hetjob\n#SBATCH --gres=gpu:8 -N1 --time=60\n"
              "env | grep ^RAILHEAD_CKPT_\n")
    job = cluster.sbatch(script, env=USR1)
    cluster.wait_job(job)
    assert told(job.output())["RAILHEAD_CKPT_MTBF"] == "6646154"
    assert job.stderr.count("can checkpoint and resume") == 1
    assert {info["Requeue"] for info in cluster.job_infos(job)} == {"1"}, cluster.job_infos(job)


@pytest.mark.parametrize("env", [USR1, {}], ids=["declared", "not declared"])
@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_srun_and_salloc_are_not_changed(cluster, command, env):
    show = "scontrol -o show job $SLURM_JOB_ID | grep -o 'Requeue=[01]'"
    result = cluster.run([command, *GANG, "sh", "-c", show], env=env)
    assert set(result.stdout.split()) == {"Requeue=0"}
    assert "checkpoint" not in result.stderr


def test_railhead_off_leaves_a_job_that_declares_alone(cluster):
    _, output, stderr = run(cluster, SHOW, *GANG, env={**USR1, "RAILHEAD": "off"})
    assert set(told(output)) == {"RAILHEAD_CKPT_SIGNAL"}
    assert "railhead" not in stderr


def test_a_changed_time_limit_is_stock_slurms_business(cluster):
    job = cluster.sbatch(SHOW, *GANG, "--hold", env=USR1)
    before = cluster.job_info(job)
    cluster.run(["scontrol", "update", f"JobId={job.id}", "TimeLimit=30"])
    after = cluster.job_info(job)
    assert after["TimeLimit"] == "00:30:00"
    assert {key for key in before if before[key] != after.get(key)} <= {"TimeLimit", "LastSchedEval"}


def test_check_says_what_preemption_lacks_for_a_last_checkpoint(rig, tmp_path):
    def findings(conf):
        result = rig.run([BUILD / "cli" / "railhead", "check", "--json", "--slurm-conf", conf], user="root", check=False)
        return [finding["text"] for finding in json.loads(result.stdout)["findings"] if finding["subject"] == "preemption"]
    assert findings(rig.conf) == []
    text = rig.conf.read_text()
    lacking = rig.etc / "lacking.conf"
    lacking.write_text(text.replace("GraceTime=20", "").replace("SlurmctldParameters=preempt_send_user_signal", ""))
    grace, signal = findings(lacking)
    assert grace.startswith('partition "low" has GraceTime=0')
    assert "preempt_send_user_signal" in signal
