"""Where jobs land on a real controller: the price of waiting, the leaves set aside, the lemons.

12 nodes behind three leaves of four; the last leaf has the feature "small".
"""

import datetime
import time

import pytest

from conftest import empty, railhead_rig
from keeper import wait_until
from rig import Nodes

NODES = [Nodes(4, features="a"), Nodes(4, features="a,b"), Nodes(4, features="b,small")]
TOPOLOGY = "".join(f"SwitchName=s{leaf} Nodes=n[{4 * leaf + 1:02}-{4 * leaf + 4:02}]\n" for leaf in range(3)) + "SwitchName=top Switches=s[0-2]\n"
PARTITIONS = ("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE\n"
              "PartitionName=first Nodes=n[01-04]\n"
              "PartitionName=all Nodes=ALL\n")
POLICY = 'mode = "enforce"\nnotes = "all"\n[placement]\nset_aside = "small"\nslowdown = 0.1\nbelow_leaf = 2\n'
OFF = {"RAILHEAD": "off"}
SMALL = {f"n{i:02}" for i in range(9, 13)}
SLEEP = "#!/bin/sh\nexec sleep 1000\n"


@pytest.fixture(scope="module")
def fabric(plugins):
    with railhead_rig(NODES, topology=TOPOLOGY, partitions=PARTITIONS, policy=POLICY,
                      scheduler="bf_interval=1,sched_interval=1,max_switch_wait=60") as rig:
        yield rig


@pytest.fixture
def idle(fabric):
    """All nodes free, and none of them a lemon."""
    yield fabric
    (fabric.etc / "railhead.lemons").unlink(missing_ok=True)
    empty(fabric)


def nodes_of(rig, job, timeout=20):
    """The nodes that the job was given, once it was."""
    assert wait_until(lambda: rig.job_info(job)["NodeList"] not in ("", "(null)"), timeout, 0.1), waiting(rig, job)
    return set(rig.hostnames(rig.job_info(job)["NodeList"]))


def waiting(rig, job):
    """Why a job has no nodes yet."""
    keys = ("JobId", "JobState", "Reason", "ReqNodeList", "ExcNodeList", "Features", "Switches")
    told = " ".join(f"{key}={rig.job_info(job).get(key)}" for key in keys)
    return told + "\n" + rig.run("squeue; sinfo -N -p main", user="root").stdout


def leaves_of(nodes):
    return {(int(name[1:]) - 1) // 4 for name in nodes}


def occupy(rig, nodes):
    job = rig.sbatch(SLEEP, "--gres=gpu:8", "--exclusive", "-w", nodes, "--time=60", env=OFF)
    assert nodes_of(rig, job) == set(rig.hostnames(nodes))
    return job


def set_lemons(rig, text):
    """Writes the lemons file, and has a review look at it."""
    (rig.etc / "railhead.lemons").write_text(text)
    time.sleep(2.5)
    for _ in range(2):  # the first may begin with the old one
        rig.sbatch(SLEEP, "--gres=gpu:8", "-N1", "--hold", "--time=1")


def starting_time(rig, job):
    """Seconds from submission to start."""
    info = rig.job_info(job)
    start, submit = (datetime.datetime.fromisoformat(info[key]) for key in ("StartTime", "SubmitTime"))
    return (start - submit).total_seconds()


@pytest.mark.parametrize("minutes,priced", [(1, 12), (2, 24)])
def test_a_job_waits_for_one_leaf_as_long_as_it_is_worth_and_then_starts_on_two(idle, minutes, priced):
    occupy(idle, "n[01-03,06-12]")  # n04 and n05 are free, on two leaves

    job = idle.sbatch(SLEEP, "--gres=gpu:8", "-N2", f"--time={minutes}")

    assert idle.job_info(job)["Switches"] == f"1@00:00:{priced:02}"
    assert nodes_of(idle, job, timeout=priced + 30) == {"n04", "n05"}
    assert starting_time(idle, job) >= priced


def test_a_job_does_not_wait_where_a_wider_span_costs_nothing(idle):
    (idle.etc / "railhead.toml").write_text(POLICY.replace("0.1", "0"))
    try:
        set_lemons(idle, "")
        occupy(idle, "n[01-03,06-12]")
        job = idle.sbatch(SLEEP, "--gres=gpu:8", "-N2", "--time=60")
        assert nodes_of(idle, job) == {"n04", "n05"}
        assert idle.job_info(job).get("Switches", "0") in ("0", "0@00:00:00")
        assert starting_time(idle, job) <= 3
    finally:
        (idle.etc / "railhead.toml").write_text(POLICY)
        set_lemons(idle, "")


@pytest.mark.parametrize("options", [["--gpus=1"], ["--gres=gpu:8", "-N1"], ["--gpus=16", "-n16"], ["--gres=gpu:8", "-N3"],
                                     ["-C", "b", "--gpus=1"], ["-p", "all,main", "--gpus=4"]], ids=" ".join)
def test_small_jobs_land_on_the_leaf_that_is_set_aside(idle, options):
    occupy(idle, "n[01,05]")  # so that the last leaf is not where the best fit is anyway
    job = idle.sbatch(SLEEP, "--time=1", *options)
    assert nodes_of(idle, job) <= SMALL, job.stderr


def test_the_own_constraint_holds_while_the_leaf_set_aside_is_preferred(idle):
    # Slurm tries --prefer in the place of -C: "small" alone would be any node of the last leaf.
    for constraint in ("b", "b&small"):
        job = idle.sbatch(SLEEP, "--gpus=1", "-C", constraint, "--time=1")
        assert nodes_of(idle, job) <= SMALL
    job = idle.sbatch(SLEEP, "--gpus=1", "-C", "a", "--time=1")
    assert not nodes_of(idle, job) & SMALL, job.stderr


@pytest.mark.parametrize("why", ["full", "drained", "reserved"])
def test_a_small_job_starts_elsewhere_at_once_when_the_leaf_set_aside_is_not_to_be_had(idle, why):
    if why == "full":
        occupy(idle, "n[09-12]")
    elif why == "drained":
        idle.run(["scontrol", "update", "NodeName=n[09-12]", "State=DRAIN", "Reason=test"], user="root")
    else:
        idle.run(["scontrol", "create", "reservation", "ReservationName=maint", "Users=root", "StartTime=now",
                  "Duration=60", "Nodes=n[09-12]"], user="root")
    try:
        job = idle.sbatch(SLEEP, "--gpus=1", "--time=1")
        assert not nodes_of(idle, job) & SMALL
        assert starting_time(idle, job) <= 3
    finally:
        if why == "drained":
            idle.run(["scontrol", "update", "NodeName=n[09-12]", "State=RESUME"], user="root")
        elif why == "reserved":
            idle.run(["scancel", f"--user={idle.user}"], user="root")
            idle.run(["scontrol", "delete", "ReservationName=maint"], user="root")


# What --prefer=small makes Slurm refuse.
REFUSING = {
    "too many nodes": ["-N6"],
    "a constraint that no such node has": ["-N1", "-C", "a"],
    "-w elsewhere": ["-N1", "-w", "n01"],
    "-x of the set": ["-N1", "-x", "n[09-12]"],
    "another partition": ["-N1", "-p", "first"],
    "more of the set than there is": ["-N3", "-x", "n[09-10]"],
}


@pytest.mark.parametrize("options", REFUSING.values(), ids=REFUSING.keys())
def test_nothing_is_preferred_that_slurm_would_refuse(idle, options):
    options = ["--gres=gpu:8", "--time=1", *options]
    # -C is replaced, not added to: stock takes "small" alone, and so would run on the wrong node.
    own = ["--prefer=a&small"] if "-C" in options else ["--prefer=small"]
    stock = idle.sbatch(SLEEP, *options, *own, env=OFF, check=False)
    assert stock.id is None, "stock Slurm takes it: this case shows nothing"
    job = idle.sbatch(SLEEP, *options)
    assert "prefers" not in job.stderr


def test_a_feature_that_no_node_has_refuses_nobody(idle):
    (idle.etc / "railhead.toml").write_text(POLICY.replace("small", "nosuch"))
    try:
        set_lemons(idle, "")
        job = idle.sbatch(SLEEP, "--gpus=1", "--time=1")
        assert nodes_of(idle, job)
    finally:
        (idle.etc / "railhead.toml").write_text(POLICY)
        set_lemons(idle, "")


def test_the_users_own_preference_is_kept(idle):
    job = idle.sbatch(SLEEP, "--gpus=1", "--prefer=a", "--time=1")
    assert not nodes_of(idle, job) & SMALL
    assert "your --prefer is kept" in job.stderr


@pytest.mark.parametrize("full", [False, True], ids=["room", "no room"])
def test_a_heterogeneous_job_starts_whether_or_not_there_is_room_on_the_leaf_set_aside(idle, full):
    # Slurm 22.05 takes no notice of --prefer when it starts a heterogeneous job.
    if full:
        occupy(idle, "n[09-12]")
    job = idle.sbatch("#!/bin/sh\n#SBATCH --gpus=1 --time=1\n#SBATCH hetjob\n#SBATCH --gpus=2 --time=1\nexec sleep 1000\n")

    def placed():
        return all(info["NodeList"] not in ("", "(null)") for info in idle.job_infos(job))
    assert wait_until(placed, 30, 0.2), waiting(idle, job)


def test_tasks_of_an_array_wait_for_no_preferred_node(idle):
    # Stock 22.05 starts four tasks of `--array=1-6 --prefer=small` and leaves two waiting.
    job = idle.sbatch(SLEEP, "--gres=gpu:8", "-N1", "--array=1-6", "--time=1")
    assert "prefers" not in job.stderr

    def placed():
        return [info["NodeList"] for info in idle.job_infos(job) if info["NodeList"] not in ("", "(null)")]
    assert wait_until(lambda: len(placed()) == 6, 20, 0.2), waiting(idle, job)


def test_a_small_job_that_waited_takes_the_first_node_that_is_free(idle):
    occupy(idle, "n[02-12]")
    first = occupy(idle, "n01")
    job = idle.sbatch(SLEEP, "--gres=gpu:8", "-N1", "--time=1")
    time.sleep(2)
    assert idle.job_info(job)["JobState"] == "PENDING" and "prefers" in job.stderr
    idle.run(["scancel", str(first.id)], user="root")
    assert nodes_of(idle, job) == {"n01"}


def utc(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_gang_avoids_lemons_and_a_single_node_job_does_not(idle):
    set_lemons(idle, "# for the test\nn[01-02]  never  slow\n")

    gang = idle.sbatch(SLEEP, "--gres=gpu:8", "-N4", "-x", "n[09-12]", "--time=1")

    assert "avoids n01, n02" in gang.stderr
    assert nodes_of(idle, gang) == {f"n{i:02}" for i in range(5, 9)}
    assert set(idle.hostnames(idle.job_info(gang)["ExcNodeList"])) == SMALL | {"n01", "n02"}
    single = idle.sbatch(SLEEP, "--gres=gpu:8", "-N1", "-C", "a", "--time=1")
    assert nodes_of(idle, single) == {"n01"}


def test_a_lemon_is_one_until_its_time(idle):
    set_lemons(idle, f"n01 {utc(8)} warm\nn02 {utc(-60)} was\n")
    gang = idle.sbatch(SLEEP, "--gres=gpu:8", "-N2", "--hold", "--time=1")
    assert idle.job_info(gang)["ExcNodeList"] == "n01"
    time.sleep(8)
    gang = idle.sbatch(SLEEP, "--gres=gpu:8", "-N2", "--hold", "--time=1")
    assert idle.job_info(gang)["ExcNodeList"] in ("", "(null)")


@pytest.mark.parametrize("text,why", [
    ("n[01-12] never all\n", "every node"),
    ("n[99,100] never gone\n", "nodes that slurm.conf does not know"),
    ("n01 yesterday\nn[ never\n\x00\xff", "garbage"),
    ("n01 2001-01-01\n", "stale"),
], ids=lambda value: value if " " not in value and "\n" not in value else None)
def test_no_lemons_file_refuses_anybody(idle, text, why):
    set_lemons(idle, text)
    for options in (["-N4"], ["-N12"], ["-N2", "-w", "n[01-02]"], ["-N2", "-C", "a|b"], ["-N2", "-x", "n[03-12]"]):
        job = idle.sbatch(SLEEP, "--gres=gpu:8", "--hold", "--time=1", *options)
        assert idle.job_info(job)["ExcNodeList"] in ("", "(null)", "n[03-12]"), (why, options)


def test_a_lemon_that_the_user_named_is_used_and_the_user_told(idle):
    set_lemons(idle, "n01 never slow\nn05 never slow\n")
    job = idle.sbatch(SLEEP, "--gres=gpu:8", "-N2", "-w", "n01", "--hold", "--time=1")
    assert idle.job_info(job)["ExcNodeList"] == "n05"
    assert "your -w names n01, which this site avoids" in job.stderr
