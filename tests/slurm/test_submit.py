"""What becomes of a submission, on a real controller: the first journey end to end.

Every way to ask for GPUs is submitted twice, with Railhead off and on, and the two runs are
compared: nodes, tasks, what each task sees of its GPUs, and the environment of the batch script.
"""

import json
import re

import pytest

from conftest import BUILD, ENFORCE, empty
from keeper import wait_until
from rig import slurm_version

# The environment of the batch script may differ in these, and in nothing else that is listed in
# WATCHED: docs/guide.md, "What whole nodes change".
WATCHED = ("SLURM_NTASKS SLURM_NPROCS SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE SLURM_JOB_NUM_NODES SLURM_NNODES "
           "SLURM_CPUS_ON_NODE SLURM_JOB_CPUS_PER_NODE SLURM_CPUS_PER_TASK SLURM_GPUS SLURM_GPUS_ON_NODE "
           "SLURM_GPUS_PER_TASK SLURM_GPUS_PER_NODE SLURM_JOB_GPUS SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU").split()
WHOLE_NODES = {"SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"}
# With -c and no -n the tasks are written (one a node, as stock counts): else -c would multiply them.
TASKS_NAMED = WHOLE_NODES | {"SLURM_NTASKS", "SLURM_NPROCS"}
# With -n and no tasks a node, stock fills the first node's CPUs (15 tasks beside 1): whole nodes
# share the tasks out evenly.
EVEN_TASKS = WHOLE_NODES | {"SLURM_TASKS_PER_NODE"}

SCRIPT = f"""#!/bin/bash
env | grep -E '^({"|".join(WATCHED)})=' | sort
echo ----
srun sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'
"""

# The words of sbatch, what may differ, and whether the nodes become the job's alone.
FORMS = [
    ("--gpus=16", WHOLE_NODES, True),
    ("--gpus=h100:16", WHOLE_NODES, True),
    ("--gpus=16 -n16", EVEN_TASKS, True),
    ("--gpus=h100:16 -n16", EVEN_TASKS, True),
    ("--gpus=16 -n16 -c4", EVEN_TASKS, True),
    ("--gpus=16 -n2", WHOLE_NODES, True),
    ("--gpus=16 -c4", TASKS_NAMED, True),
    ("--gpus=16 --cpus-per-gpu=4", set(), False),
    ("--gpus=16 --cpus-per-gpu=8", WHOLE_NODES, True),
    ("--gpus=16 --ntasks-per-node=8", WHOLE_NODES, True),
    ("--gpus=16 --ntasks-per-gpu=1", EVEN_TASKS, True),
    ("--gpus=16 --gpus-per-node=8", WHOLE_NODES, True),
    ("--gpus=16 --gpus-per-task=1", WHOLE_NODES, True),
    ("--gpus-per-task=1 -n16", WHOLE_NODES, True),
    ("--gpus-per-task=h100:1 -n16", WHOLE_NODES, True),
    ("--gpus-per-task=8 -n2", WHOLE_NODES, True),
    ("--gres=gpu:8 -n16 --ntasks-per-node=8", WHOLE_NODES, True),
    ("--gres=gpu:h100:8 -N2 --ntasks-per-node=1 -c8", WHOLE_NODES, True),
    ("--gpus-per-node=8 -N2", WHOLE_NODES, True),
    ("--gres=gpu:8 -N2 -n16", EVEN_TASKS, True),
]

# 26.05 counts the tasks of one node, finds no place for 16 GPUs beside them, and waits for ever.
STOCK_NEVER_STARTS = {"--gpus=16 --ntasks-per-node=8"} if slurm_version() >= (25, 11) else set()

UNTOUCHED = ["-n4", "-N2", "--gpus=1", "--gpus=8 -n8", "--gres=gpu:8", "--gres=gpu:4 -N1"]

OFF = {"RAILHEAD": "off"}


def words(options):
    return options.split()


def environment_of(output):
    lines = output.partition("----\n")[0].splitlines()
    return dict(line.split("=", 1) for line in lines)


def tasks_of(output):
    return sorted(output.partition("----\n")[2].splitlines())


def visible(output):
    """How many GPUs each task saw, however they were numbered."""
    return sorted(len(line.split()[1].split(",")) if len(line.split()) > 1 else 0 for line in tasks_of(output))


def run_all(rig, forms, env):
    """Submits each form; returns {form: (info, output, what the user was told)}, None for a job that never starts."""
    jobs = {form: rig.sbatch(SCRIPT, "--time=1", *words(form), env=env) for form in forms}

    def result(job):
        if not wait_until(lambda: rig.job_info(job)["JobState"] != "PENDING", 20, 0.2):
            rig.run(["scancel", str(job.id)])
            return None
        return rig.wait_job(job, timeout=60), job.output(), job.stderr
    return {form: result(job) for form, job in jobs.items()}


@pytest.fixture(scope="module")
def both(shared_rig):
    """Every form with Railhead off and on."""
    forms = [form for form, _, _ in FORMS]
    stock = run_all(shared_rig, forms, OFF)
    empty(shared_rig)
    railhead = run_all(shared_rig, forms, {})
    empty(shared_rig)
    return stock, railhead


@pytest.mark.parametrize("form,may_differ,alone", FORMS, ids=[form for form, _, _ in FORMS])
def test_a_gang_gets_whole_nodes_and_keeps_its_tasks_and_gpus(both, form, may_differ, alone):
    stock, railhead = (run[form] for run in both)

    assert railhead and railhead[0]["JobState"] == "COMPLETED", railhead
    assert railhead[0]["NumNodes"] == "2"
    assert (railhead[0]["OverSubscribe"] == "NO") == alone
    assert "railhead: " in railhead[2]
    if stock is None:
        assert form in STOCK_NEVER_STARTS, "stock Slurm left the job pending"
        assert len(tasks_of(railhead[1])) == 16
        return
    assert stock[0]["JobState"] == "COMPLETED", stock
    assert len(tasks_of(railhead[1])) == len(tasks_of(stock[1]))
    assert stock[0]["OverSubscribe"] != "NO"
    assert "railhead: " not in stock[2]
    # Tasks that stock dealt unevenly shared GPUs unevenly too; elsewhere each task sees the same.
    if may_differ is not EVEN_TASKS:
        assert visible(railhead[1]) == visible(stock[1])
    before, after = environment_of(stock[1]), environment_of(railhead[1])
    differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert differing <= may_differ, {name: (before.get(name), after.get(name)) for name in differing}


@pytest.mark.parametrize("form", [form for form, may_differ, _ in FORMS if may_differ is EVEN_TASKS])
def test_tasks_are_dealt_evenly_over_whole_nodes(both, form):
    tasks = tasks_of(both[1][form][1])
    hosts = [task.split()[0] for task in tasks]
    assert len(tasks) == 16 and {hosts.count(host) for host in hosts} == {8}


@pytest.mark.parametrize("form", ["--gpus-per-task=1 -n16", "--gpus=16 --gpus-per-task=1", "--gpus=16 --ntasks-per-gpu=1"])
def test_isolated_tasks_see_a_gpu_each_and_the_user_is_told_what_that_costs(both, form):
    _, output, told = both[1][form]
    assert visible(output) == [1] * 16
    assert len(set(tasks_of(output))) == 16, "two tasks of a node share a GPU"
    assert "peer-to-peer" in told

@pytest.mark.parametrize("form,alone", [(form, alone) for form, _, alone in FORMS], ids=[form for form, _, _ in FORMS])
def test_explain_says_what_the_controller_did(both, shared_rig, form, alone):
    script = shared_rig.work / "explained.sbatch"
    script.write_text("#!/bin/sh\n#SBATCH --time=1\nsrun true\n")
    result = shared_rig.run([BUILD / "cli" / "railhead", "explain", "--json", script, "--", *words(form)], user="root")
    (component,) = json.loads(result.stdout)["components"]
    changes, info, told = component["changes"], both[1][form][0], both[1][form][2]

    assert component["nodes"] == int(info["NumNodes"])
    assert changes.get("exclusive", False) == alone
    assert f"{changes['switches']}@00:05:00" == info["Switches"]
    for note in component["notes"]:
        # Releases differ in whether sbatch works out the node count itself, and so in who wrote it.
        # What a checkpoint's interval is, is told with notes = "all".
        if note["rule"] not in ("gang", "checkpoint"):
            assert (note["text"] in told) == (note["kind"] != "left"), note


@pytest.mark.parametrize("form", UNTOUCHED)
def test_small_jobs_and_cpu_jobs_pass_untouched(cluster, form):
    job = cluster.sbatch(SCRIPT, "--time=1", *words(form))
    info = cluster.wait_job(job)

    assert info["JobState"] == "COMPLETED"
    assert info["OverSubscribe"] != "NO"
    assert "whole node" not in job.stderr


def test_a_gang_lands_on_one_leaf_although_its_first_free_nodes_are_on_two(cluster):
    # Node 4 is the last of leaf 1: with 1 to 3 busy, stock takes 4 and 5.
    cluster.sbatch("#!/bin/sh\nsleep 60\n", "-N3", "-w", "n[01-03]", "--gres=gpu:8", "--exclusive", env=OFF)

    job = cluster.sbatch(SCRIPT, "--gpus=16", "-n16", "--time=1")
    info = cluster.wait_job(job)

    assert info["JobState"] == "COMPLETED"
    nodes = cluster.hostnames(info["NodeList"])
    assert {int(node[1:]) > 4 for node in nodes} == {True}, nodes
    assert info["Switches"] == "1@00:05:00", info


def test_srun_and_salloc_are_reviewed_alike(cluster):
    srun = cluster.run(["srun", "--gpus=16", "-n16", "--time=1", "sh", "-c", "echo $SLURM_JOB_NUM_NODES $SLURMD_NODENAME"])
    assert len(srun.stdout.splitlines()) == 16
    assert {line.split()[0] for line in srun.stdout.splitlines()} == {"2"}
    assert "16 GPUs become 2 whole nodes" in srun.stderr

    salloc = cluster.run(["salloc", "--gpus=16", "--time=1", "sh", "-c",
                          "scontrol show job $SLURM_JOB_ID; srun hostname"])
    assert "NumNodes=2" in salloc.stdout and "OverSubscribe=NO" in salloc.stdout
    assert "16 GPUs become 2 whole nodes" in salloc.stderr
    assert salloc.stderr.count("railhead: ") == 2, "srun inside an allocation prints no note"


def test_each_task_of_an_array_is_a_gang(cluster):
    job = cluster.sbatch("#!/bin/sh\ntrue\n", "--array=1-2", "--gpus=16", "-n16", "--time=1")
    cluster.wait_job(job)
    for info in cluster.job_infos(job):
        assert info["NumNodes"] in ("2", "2-2") and info["OverSubscribe"] == "NO", info


def test_components_of_a_heterogeneous_job_are_reviewed_one_by_one(cluster):
    script = ("#!/bin/sh\n#SBATCH --gpus=16 --ntasks=16 --time=1\n#SBATCH hetjob\n#SBATCH --gpus=1 --ntasks=1 --time=1\ntrue\n")
    job = cluster.sbatch(script)
    cluster.wait_job(job)
    first, second = cluster.job_infos(job)
    assert first["NumNodes"] == "2" and first["OverSubscribe"] == "NO", first
    assert second["NumNodes"] == "1" and second["OverSubscribe"] != "NO", second
    assert job.stderr.count("16 GPUs become") == 1


@pytest.mark.parametrize("option,env", [(["--railhead=off"], {}), ([], {"RAILHEAD": "off"})], ids=["option", "variable"])
@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_the_off_switch_works_in_every_command(cluster, command, option, env):
    show = "scontrol show job $SLURM_JOB_ID | grep -oE '(OverSubscribe|Exclusive)=[A-Z]*'"
    if command == "sbatch":
        job = cluster.sbatch(f"#!/bin/sh\n{show}\n", *option, "--gpus=16", "--time=1", env=env)
        cluster.wait_job(job)
        out, err = job.output(), job.stderr
    else:
        result = cluster.run([command, *option, "--gpus=16", "-n2", "--time=1", "sh", "-c", show], env=env)
        out, err = result.stdout, result.stderr
    shared = "Exclusive=NO" if "Exclusive=" in out else "OverSubscribe=OK"  # 26.05 has both keys
    assert shared in out.split() and "Exclusive=NODE" not in out
    assert "whole node" not in err


def test_what_the_user_set_is_kept(cluster):
    job = cluster.sbatch("#!/bin/sh\ntrue\n", "--gpus=16", "-n16", "--switches=2@00:01:00", "--time=1", "--hold")
    info = cluster.job_info(job)
    assert info["Switches"] == "2@00:01:00", info


def test_an_update_of_the_node_count_renews_the_switch_count(cluster):
    job = cluster.sbatch("#!/bin/sh\ntrue\n", "-N4", "--gres=gpu:8", "--time=1", "--hold")
    assert cluster.job_info(job)["Switches"] == "1@00:05:00"
    cluster.run(["scontrol", "update", f"JobId={job.id}", "NumNodes=6-6"])
    assert cluster.job_info(job)["Switches"] == "2@00:05:00"
    cluster.run(["scontrol", "update", f"JobId={job.id}", "TimeLimit=2"])
    assert cluster.job_info(job)["Switches"] == "2@00:05:00"


def test_slurmctld_logs_one_line_for_each_job(cluster):
    before = cluster.log("slurmctld").count("job_submit/railhead: uid ")
    for options in (["--gpus=16"], ["-n1"], ["--gpus=3"]):
        cluster.sbatch("#!/bin/sh\ntrue\n", "--time=1", *options)
    assert cluster.log("slurmctld").count("job_submit/railhead: uid ") == before + 3


@pytest.mark.parametrize("policy,log", [
    ('mode = "enforced"\n', 'expected one of "observe", "advise", "enforce"'),
    ("[\no", "is not used"),
    (None, "every job passes unchanged"),
], ids=["wrong word", "syntax", "absent"])
def test_a_broken_or_absent_policy_leaves_submission_working(make_rig, policy, log):
    rig = make_rig(2, policy=policy, leaves=2)
    job = rig.sbatch("#!/bin/sh\nsrun true\n", "--gpus=16", "--time=1")
    info = rig.wait_job(job)
    assert info["JobState"] == "COMPLETED" and info["OverSubscribe"] != "NO"
    assert "railhead" not in job.stderr
    assert rig.log("slurmctld").count(log) == 1


def test_a_policy_is_taken_up_without_a_restart(make_rig):
    rig = make_rig(2, policy=ENFORCE + "enabled = false\n")

    def shared():
        job = rig.sbatch("#!/bin/sh\ntrue\n", "--gpus=16", "--hold", "--time=1")
        sharing = rig.job_info(job)["OverSubscribe"]
        rig.run(["scancel", str(job.id)])
        return sharing != "NO"
    assert shared()
    for text, expected in ((ENFORCE, False), ('mode = "observe"\n', True), (ENFORCE, False), ("nonsense", False)):
        (rig.etc / "railhead.toml").write_text(text)
        rig.run("sleep 2.5")
        shared()  # a review looks at the file, and may have begun with the old one
        assert shared() == expected, text


@pytest.mark.parametrize("topology,why", [
    ("", "empty"),
    ("SwitchName=leaf1 Nodes=n[01-02]\nSwitchName=leaf2 Nodes=n[03-04,99]\nSwitchName=top Switches=leaf[1-2]\n", "unknown node"),
], ids=["empty", "unknown node"])
def test_an_odd_topology_file_never_stops_a_job(make_rig, topology, why):
    if not topology:
        # Slurm itself does not start on an empty file; ours is named by the policy.
        rig = make_rig(4, policy=ENFORCE + 'topology = "/dev/null"\n')
    else:
        rig = make_rig(4, topology=topology)
    job = rig.sbatch("#!/bin/sh\ntrue\n", "--gpus=16", "-n16", "--time=1")
    assert rig.wait_job(job)["JobState"] == "COMPLETED"
    lines = [line for line in rig.log("slurmctld").splitlines() if "job_submit/railhead" in line and re.search("topology|null", line)]
    assert len(lines) == 1, lines


@pytest.mark.skipif(slurm_version() < (24, 5), reason="this Slurm has no --segment")
def test_on_blocks_a_segment_is_written_only_for_a_declared_group(make_rig):
    blocks = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\nBlockSizes=4\n"
    rig = make_rig(8, topology=blocks)

    def segment(*options, env=None):
        job = rig.sbatch("#!/bin/sh\ntrue\n", "--gres=gpu:8", "--hold", "--time=1", *options, env=env)
        told = re.search(r"--segment=(\d+)", job.stderr)
        shown = rig.job_info(job).get("SegmentSize")  # from 25.05 on
        assert shown is None or not told or shown == told[1], job.stderr
        return told and told[1]
    assert segment("-N8") is None
    assert segment("-N8", "--mp-group=2") == "4"
    assert segment("-N8", env={"RAILHEAD_MP_GROUP": "2"}) == "4"
    assert segment("-N8", "--mp-group=2", "--segment=2") is None
    job = rig.sbatch("#!/bin/sh\nsrun hostname\n", "--gres=gpu:8", "-N8", "--mp-group=2", "--time=1")
    assert rig.wait_job(job)["JobState"] == "COMPLETED"
