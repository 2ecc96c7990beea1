"""What becomes of a job after it was submitted: scontrol update, requeue, arrays, het jobs; and the
variables that stand for options, which a submission may come by.

Updates are made to the same job on stock Slurm and with Railhead: never is one refused that stock
takes, and the shape changes by nothing but what was asked and what follows from it.
"""

import re
import time

import pytest

from conftest import ENFORCE
from rig import Rig, slurm_version

SLEEP = "#!/bin/sh\nsleep 60\n"
PARTITIONS = """PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes=n[01-04] MaxTime=INFINITE State=UP
"""
CLOUD = {"leaves": 2, "cloud": True, "partitions": PARTITIONS, "extra": "RequeueExit=0\n"}

# The job as submitted, and its shape then: nodes, whether they are its own, the switches.
GANG = ("--gpus=16", "-n16")
FIXED = ("-N4", "--gres=gpu:8")
CPUS = ("-n4",)
SHAPES = {GANG: ("2", True, "1@00:05:00"), FIXED: ("4", True, "1@00:05:00"), CPUS: ("1-4" if slurm_version() >= (25, 5) else "1", False, None)}

AS_STOCK = object()  # releases differ, and Railhead with them

# A job, what is updated, and what of its shape is another one then; everything else stays.
UPDATES = [
    (GANG, ["TimeLimit=5"], {}),
    (GANG, ["Partition=other"], {}),
    (GANG, ["Switches=2"], {"switches": "2@00:05:00"}),
    (GANG, ["Switches=2@00:02:00"], {"switches": "2@00:02:00"}),
    (GANG, ["ExcNodeList=n01"], {}),
    (GANG, ["Features=none"], {}),
    (GANG, ["NumTasks=32"], {}),
    (GANG, ["Requeue=0"], {}),
    (GANG, ["Nice=5"], {}),
    (GANG, ["NumNodes=4-4"], {"nodes": "4"}),
    (GANG, ["NumNodes=6-6"], {"nodes": "6", "switches": "2@00:05:00"}),
    (GANG, ["NumNodes=6-6", "Switches=1"], {"nodes": "6", "switches": "1@00:05:00"}),
    (FIXED, ["NumNodes=2"], {"nodes": AS_STOCK}),  # 22.05: 2-4
    (FIXED, ["NumNodes=2-2"], {"nodes": "2"}),
    (FIXED, ["NumNodes=8-8"], {"nodes": "8", "switches": "2@00:05:00"}),
    (FIXED, ["NumNodes=4-2"], {}),
    (FIXED, ["Gres=gpu:4"], {}),
    (FIXED, ["Gres=gpu:9"], {}),
    (FIXED, ["OverSubscribe=YES"], {"own": False}),
    (FIXED, ["TimeLimit=1:00:00", "Partition=other"], {}),
    (FIXED, ["Partition=nowhere"], {}),
    (FIXED, ["ReqNodeList=n[01-04]"], {}),
    (CPUS, ["NumNodes=2-2"], {"nodes": "2"}),
    (CPUS, ["Switches=1@00:01:00"], {"switches": "1@00:01:00"}),
    (CPUS, ["TimeLimit=5", "Partition=other"], {}),
]


def nodes_of(info):
    """"4" of "4" and of "4-4", as a waiting job shows a fixed count."""
    first, _, last = info["NumNodes"].partition("-")
    return first if last in ("", first) else info["NumNodes"]


def shape(info):
    return nodes_of(info), info["OverSubscribe"] == "NO", info.get("Switches")


def hold(rig, *options, **more):
    return rig.sbatch("#!/bin/sh\ntrue\n", "--hold", "--time=1", *options, **more)


def update(rig, job, *changes):
    """scontrol update.  Again where 24.11 and 26.05 refuse a partition for what they find in errno: with stock, on some
    threads of slurmctld, nearly always."""
    for _ in range(300):
        result = rig.run(["scontrol", "update", f"JobId={getattr(job, 'id', job)}", *changes], user="root", check=False)
        if not re.search("Resource temporarily unavailable|Interrupted system call", result.stderr):
            break
        time.sleep(0.1)
    return result


@pytest.fixture(scope="module")
def pair(plugins):
    """A stock cluster and one with Railhead, of nodes that exist only in slurmctld."""
    with Rig(8, **CLOUD) as stock, Rig(8, plugins=plugins, job_submit=True, policy=ENFORCE, **CLOUD) as railhead:
        yield stock, railhead


def test_jobs_have_the_shapes_that_updates_are_measured_against(pair):
    for options, expected in SHAPES.items():
        assert shape(pair[1].job_info(hold(pair[1], *options))) == expected


@pytest.mark.parametrize("options,changes,expected", UPDATES, ids=[" ".join((*o, ":", *c)) for o, c, _ in UPDATES])
def test_an_update_is_taken_as_by_stock_and_keeps_the_rest(pair, options, changes, expected):
    jobs = [hold(rig, *options) for rig in pair]

    stock, railhead = (update(rig, job, *changes) for rig, job in zip(pair, jobs))

    assert railhead.returncode == stock.returncode, (stock.stderr, railhead.stderr)
    assert re.sub(r"job \d+", "job", railhead.stderr) == re.sub(r"job \d+", "job", stock.stderr)
    nodes, own, switches = SHAPES[options]
    nodes = expected.get("nodes", nodes)
    if nodes is AS_STOCK:
        nodes = nodes_of(pair[0].job_info(jobs[0]))
    assert shape(pair[1].job_info(jobs[1])) == (nodes, expected.get("own", own), expected.get("switches", switches))


def test_a_count_that_railhead_wrote_is_changed_by_both_ends(pair):
    """The one thing that only stock 22.05 takes: the count was open there, here it is as if -N2 had been said."""
    _, rig = pair
    job = hold(rig, *GANG)
    minimum = update(rig, job, "NumNodes=4")
    if slurm_version() < (24, 11):
        assert minimum.returncode != 0 and "ode count specification invalid" in minimum.stderr
        assert update(rig, job, "NumNodes=4-4").returncode == 0
    assert nodes_of(rig.job_info(job)) == "4"


def test_switches_that_the_user_updated_stay(pair):
    _, rig = pair
    job = hold(rig, *FIXED)
    assert update(rig, job, "Switches=2@00:01:00").returncode == 0
    for change in ("TimeLimit=7", "Partition=other", "Gres=gpu:8"):
        assert update(rig, job, change).returncode == 0
        assert rig.job_info(job)["Switches"] == "2@00:01:00", change


def test_an_update_is_taken_at_the_moment_when_the_plugin_looks_at_its_files(pair):
    """It looks at most every two seconds, and of the files that may be there some are not."""
    _, rig = pair
    job = hold(rig, *FIXED)
    for partition in ("other", "main"):
        rig.run("sleep 2.5")
        changed = update(rig, job, f"Partition={partition}")
        assert changed.returncode == 0 or "temporarily unavailable" in changed.stderr, changed.stderr  # Slurm's own


def test_a_user_updates_his_own_job(pair):
    _, rig = pair
    job = hold(rig, *FIXED)
    rig.run(["scontrol", "update", f"JobId={job.id}", "NumNodes=8-8"])
    assert shape(rig.job_info(job)) == ("8", True, "2@00:05:00")


@pytest.mark.parametrize("policy", ['mode = "observe"\n', ENFORCE + "enabled = false\n", "nonsense"],
                         ids=["observe", "off", "broken"])
def test_a_policy_that_changes_nothing_leaves_updates_alone(make_rig, policy):
    rig = make_rig(8, policy=policy, plugstack="", **CLOUD)
    job = hold(rig, *FIXED)
    assert update(rig, job, "NumNodes=8-8").returncode == 0
    info = rig.job_info(job)
    assert nodes_of(info) == "8" and "Switches" not in info, info


# -- arrays and het jobs --------------------------------------------------------------------


def test_an_array_is_updated_whole_or_task_by_task(pair):
    _, rig = pair
    job = hold(rig, *FIXED, "--array=1-3")

    assert update(rig, f"{job.id}_2", "NumNodes=8-8").returncode == 0
    task = rig.job_info(f"{job.id}_2")
    assert shape(task) == ("8", True, "2@00:05:00")
    rest = [info for info in rig.job_infos(job) if info["JobId"] != task["JobId"]]
    assert rest and {shape(info) for info in rest} == {SHAPES[FIXED]}

    assert update(rig, job, "TimeLimit=9").returncode == 0
    assert {info["TimeLimit"] for info in rig.job_infos(job)} == {"00:09:00"}
    assert {shape(info) for info in rig.job_infos(job)} == {SHAPES[FIXED], ("8", True, "2@00:05:00")}


def test_components_of_a_het_job_are_updated_one_by_one(pair):
    _, rig = pair
    script = ("#!/bin/sh\n#SBATCH --hold --time=1 -N4 --gres=gpu:8\n#SBATCH hetjob\n#SBATCH --time=1 -N2 --gres=gpu:8\n"
              "#SBATCH hetjob\n#SBATCH --time=1 -n1\ntrue\n")
    job = rig.sbatch(script)
    before = [shape(info) for info in rig.job_infos(job)]
    assert before == [("4", True, "1@00:05:00"), ("2", True, "1@00:05:00"), ("1", False, None)]

    second = rig.job_info(f"{job.id}+1")["JobId"]  # scontrol update takes no 12+1
    assert update(rig, second, "NumNodes=6-6").returncode == 0
    assert [shape(info) for info in rig.job_infos(job)] == [before[0], ("6", True, "2@00:05:00"), before[2]]


# -- requeue --------------------------------------------------------------------------------

# slurmd refuses the credential of a run that is made in the second in which it revoked that of the last one.
RESTART = "StartTime=now+3"


@pytest.mark.parametrize("options", [GANG, FIXED], ids=["node count left open", "node count given"])
def test_a_requeued_job_keeps_its_shape(cluster, options):
    job = cluster.sbatch(SLEEP, "--time=2", "--requeue", *options)
    cluster.wait_job(job, states={"RUNNING"})
    before = shape(cluster.job_info(job))
    reviews = cluster.log("slurmctld").count("job_submit/railhead: uid ")

    cluster.run(["scontrol", "requeue", str(job.id)], user="root")
    cluster.wait_job(job, states={"PENDING"})
    assert shape(cluster.job_info(job)) == before
    cluster.run(["scontrol", "update", f"JobId={job.id}", RESTART], user="root")
    info = cluster.wait_job(job, states={"RUNNING"})

    assert shape(info) == before and info["Restarts"] == "1"
    leaves = {int(node[1:]) > 4 for node in cluster.hostnames(info["NodeList"])}
    assert len(leaves) == 1, info["NodeList"]
    assert cluster.log("slurmctld").count("job_submit/railhead: uid ") == reviews, "a requeue is not reviewed"


def test_a_requeued_array_task_keeps_its_shape(cluster):
    job = cluster.sbatch(SLEEP, "--time=2", "--requeue", "--array=1-2", *GANG)
    cluster.wait_job(f"{job.id}_1", states={"RUNNING"})
    before = shape(cluster.job_info(f"{job.id}_1"))
    cluster.run(["scontrol", "requeue", f"{job.id}_1"], user="root")
    cluster.wait_job(f"{job.id}_1", states={"PENDING"})
    assert shape(cluster.job_info(f"{job.id}_1")) == before == SHAPES[GANG]


# -- variables that stand for options ---------------------------------------------------------

VARIABLES = [
    ({"SBATCH_GPUS": "16"}, ["--gpus=16"], (22, 5)),
    ({"SBATCH_GPUS": "16", "SBATCH_PARTITION": "main"}, ["--gpus=16", "-p", "main"], (22, 5)),
    ({"SBATCH_GPUS_PER_NODE": "8"}, ["--gpus-per-node=8", "-N2"], (22, 5)),
    ({"SBATCH_GPUS_PER_TASK": "1"}, ["--gpus-per-task=1", "-n16"], (22, 5)),
    ({"SBATCH_GPUS": "16", "SBATCH_EXCLUSIVE": ""}, ["--gpus=16", "--exclusive"], (22, 5)),
    ({"SBATCH_GPUS": "32", "SBATCH_REQ_SWITCH": "2"}, ["--gpus=32", "--switches=2"], (22, 5)),
    ({"SBATCH_GPUS": "32", "SBATCH_REQ_SWITCH": "2", "SBATCH_WAIT4SWITCH": "00:02:00"}, ["--gpus=32", "--switches=2@00:02:00"], (22, 5)),
    ({"SBATCH_GPUS": "16", "SBATCH_CPUS_PER_GPU": "4"}, ["--gpus=16", "--cpus-per-gpu=4"], (22, 5)),
    ({"SBATCH_GPUS": "16", "SBATCH_MEM_PER_GPU": "1G"}, ["--gpus=16", "--mem-per-gpu=1G"], (22, 5)),
    ({"SBATCH_GPUS": "16", "SBATCH_RESERVATION": "held"}, ["--gpus=16", "--reservation=held"], (22, 5)),
    ({"SBATCH_GPUS": "16", "RAILHEAD": "off"}, ["--gpus=16", "--railhead=off"], (22, 5)),
    ({"SBATCH_TRES_PER_TASK": "gres/gpu:1"}, ["--tres-per-task=gres/gpu:1", "-n16"], (23, 11)),
]


@pytest.mark.parametrize("env,options,since", VARIABLES, ids=[" ".join(f"{k}={v}" for k, v in env.items()) for env, _, _ in VARIABLES])
def test_a_variable_is_reviewed_as_its_option(cluster, env, options, since):
    if slurm_version()[:2] < since:
        pytest.skip(f"this Slurm has no {' '.join(env)}")
    if "held" in str(env):
        cluster.run(["scontrol", "create", "reservation", "ReservationName=held", "StartTime=now", "Duration=5",
                     f"Users={cluster.user}", "Nodes=n[01-04]"], user="root")
    # What no variable says is said by options on both sides.
    shared = [option for option in options if option.startswith(("-N", "-n"))]

    try:
        by_option = hold(cluster, *options)
        by_variable = hold(cluster, *shared, env=env)

        keys = ("NumNodes", "NumTasks", "NumCPUs", "OverSubscribe", "Switches", "TresPerJob", "TresPerNode", "TresPerTask", "Partition")
        expected, got = ({key: cluster.job_info(job).get(key) for key in keys} for job in (by_option, by_variable))
        assert got == expected
        assert by_variable.stderr == by_option.stderr
        assert ("railhead: " in by_option.stderr) == ("off" not in env.values() and "held" not in env.values())
    finally:
        cluster.run(["scancel", f"--user={cluster.user}"], user="root")
        if "held" in str(env):
            cluster.run(["scontrol", "delete", "ReservationName=held"], user="root", check=False)


def test_the_command_line_wins_over_a_variable_in_the_review_too(cluster):
    job = hold(cluster, "--gpus=32", env={"SBATCH_GPUS": "16"})
    assert nodes_of(cluster.job_info(job)) == "4"
    assert "32 GPUs become 4 whole nodes" in job.stderr
