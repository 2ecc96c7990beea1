"""Fabrics deeper than a spine and several in one cluster, on a real controller.

Nodes are of the cloud: they exist in slurmctld alone, which places jobs on them as on any.
"""

import json
import os
import re

import pytest

from conftest import BUILD
from keeper import wait_until
from rig import slurm_version

YAML = slurm_version() >= (25, 5)
NEEDS_YAML = pytest.mark.skipif(not YAML, reason="topology.yaml is read by Slurm 25.05 and later")
SCRIPT = "#!/bin/sh\nsleep 600\n"

# Four leaves in two pods.
DEEP = """
SwitchName=l1 Nodes=n[01-02]
SwitchName=l2 Nodes=n[03-04]
SwitchName=l3 Nodes=n[05-06]
SwitchName=l4 Nodes=n[07-08]
SwitchName=pod1 Switches=l[1-2]
SwitchName=pod2 Switches=l[3-4]
SwitchName=top Switches=pod[1-2]
"""
LEAVES = {"l1": ["n01", "n02"], "l2": ["n03", "n04"], "l3": ["n05", "n06"], "l4": ["n07", "n08"]}

TWO = """
- topology: wide
  cluster_default: true
  tree:
    switches:
      - {switch: top, children: "w[1-2]"}
      - {switch: w1, nodes: "n[01-04]"}
      - {switch: w2, nodes: "n[05-08]"}
- topology: narrow
  cluster_default: false
  tree:
    switches:
      - {switch: spine, children: "s[1-4]"}
      - {switch: s1, nodes: "n[01-02]"}
      - {switch: s2, nodes: "n[03-04]"}
      - {switch: s3, nodes: "n[05-06]"}
      - {switch: s4, nodes: "n[07-08]"}
- topology: loose
  flat: true
"""
PARTITIONS = "\n".join([
    "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    "PartitionName=cut Nodes=ALL Topology=narrow MaxTime=INFINITE State=UP",
    "PartitionName=free Nodes=ALL Topology=loose MaxTime=INFINITE State=UP",
])


def submit(rig, nodes, *options, check=True):
    return rig.sbatch(SCRIPT, f"-N{nodes}", "--gpus-per-node=8", "--ntasks-per-node=8", "--time=10", *options, check=check)


def switches_of(rig, job):
    """The --switches that a job has, 0 for none."""
    found = re.search(r"Switches=(\d+)@", rig.run(["scontrol", "-o", "show", "job", str(job.id)], user="root").stdout)
    return int(found[1]) if found else 0


def nodes_of(rig, job):
    """Where a job is placed; its nodes of the cloud never come up."""
    assert wait_until(lambda: rig.job_info(job).get("NodeList") not in (None, "", "(null)"), 20, 0.2)
    return rig.hostnames(rig.job_info(job)["NodeList"])


def check(rig):
    result = rig.run([BUILD / "cli" / "railhead", "check", "--json"], user="root", check=False)
    return [finding for finding in json.loads(result.stdout)["findings"] if finding["level"] not in ("ok", "advice")]


def explain(rig, nodes):
    script = rig.work / "explained.sbatch"
    script.write_text(f"#!/bin/sh\n#SBATCH -N{nodes} --gpus-per-node=8 --ntasks-per-node=8\nsrun true\n")
    result = rig.run([BUILD / "cli" / "railhead", "explain", "--policy", rig.etc / "railhead.toml", script], user="root")
    return result.stdout


def replace(path, text):
    """As an editor saves: never half a file."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def test_on_three_levels_the_least_leaves_are_written_and_every_level_told(make_rig):
    rig = make_rig(8, cloud=True, topology=DEEP)
    assert check(rig) == []

    text = explain(rig, 4)
    assert "2 leaf switches at least, of 4 with usable nodes" in text
    assert "1 level-1 switch at least, of 2 with usable nodes" in text
    assert "2 level-1 switches at least" in explain(rig, 5)

    job = submit(rig, 4)
    assert switches_of(rig, job) == 2
    touched = {leaf for leaf, names in LEAVES.items() if set(names) & set(nodes_of(rig, job))}
    assert len(touched) == 2


def test_slurm_has_the_levels_that_are_told(make_rig):
    rig = make_rig(8, cloud=True, topology=DEEP)
    lines = rig.run(["scontrol", "-o", "show", "topology"], user="root").stdout.splitlines()
    levels = dict(re.search(r"SwitchName=(\S+) Level=(\d)", line).groups() for line in lines)
    assert levels == {"l1": "0", "l2": "0", "l3": "0", "l4": "0", "pod1": "1", "pod2": "1", "top": "2"}


def test_a_job_larger_than_any_network_is_told_why_slurm_refuses_it(make_rig):
    rig = make_rig(8, cloud=True, topology="SwitchName=a Nodes=n[01-05]\nSwitchName=b Nodes=n[06-08]\n")
    assert submit(rig, 5).id is not None
    job = submit(rig, 6, check=False)
    assert job.id is None
    # 24.11 says "topology", the others "node".
    assert re.search("Requested (node|topology) configuration is not available", job.stderr)
    assert "no network of the fabric has 6 nodes for this job, the largest has 5" in job.stderr


@NEEDS_YAML
def test_each_partition_is_placed_on_the_topology_it_names(make_rig):
    rig = make_rig(8, cloud=True, files={"topology.yaml": TWO}, partitions=PARTITIONS)
    assert check(rig) == []  # slurmctld has the leaves of both

    for nodes, partition, least in [(3, "main", 1), (3, "cut", 2), (2, "cut", 1), (5, "main", 0), (3, "free", 0)]:
        job = submit(rig, nodes, "-p", partition)
        assert switches_of(rig, job) == least, (nodes, partition)
        rig.run(["scancel", str(job.id)], user="root")
    # Named together, the larger minimum holds on either.
    job = submit(rig, 3, "-p", "cut,main")
    assert switches_of(rig, job) == 2


@NEEDS_YAML
def test_jobs_lie_on_the_leaves_of_their_partitions_topology(make_rig):
    rig = make_rig(8, cloud=True, files={"topology.yaml": TWO}, partitions=PARTITIONS)
    job = submit(rig, 4, "-p", "cut")
    narrow = [{"n01", "n02"}, {"n03", "n04"}, {"n05", "n06"}, {"n07", "n08"}]
    names = set(nodes_of(rig, job))
    assert sum(bool(leaf & names) for leaf in narrow) == switches_of(rig, job) == 2


@NEEDS_YAML
@pytest.mark.parametrize("bad,error", [
    (TWO.replace('children: "w[1-2]"', "children: [w1, w2]"), '6:23: "children" is to be a word, not a list'),
    (TWO + "- topology: [\n", "this is no YAML"),
], ids=["wrong shape", "no YAML"])
def test_a_topology_yaml_that_turns_bad_stops_no_job(make_rig, bad, error):
    rig = make_rig(8, cloud=True, files={"topology.yaml": TWO}, partitions=PARTITIONS)
    assert switches_of(rig, submit(rig, 2)) == 1
    path = rig.etc / "topology.yaml"

    replace(path, bad)

    def told():
        submit(rig, 1)  # a submission looks at the files
        return re.search(f"topology.yaml:.*{re.escape(error)}", rig.log("slurmctld"))
    assert wait_until(told, 20, 0.5)
    job = submit(rig, 3, "-p", "cut")
    assert switches_of(rig, job) == 2  # as last known

    replace(path, TWO.replace("w[1-2]", "w[1,2]").replace("n[01-04]", "n[01-02]").replace("n[05-08]", "n[03-08]"))

    def taken_up():
        return switches_of(rig, submit(rig, 6)) == 1
    assert wait_until(taken_up, 20, 0.5)


@NEEDS_YAML
def test_a_leaf_that_slurmctld_does_not_know_yet_is_told(make_rig):
    rig = make_rig(8, cloud=True, files={"topology.yaml": TWO}, partitions=PARTITIONS)
    path = rig.etc / "topology.yaml"
    replace(path, TWO.replace("n[01-02]", "n01").replace("n[03-04]", "n[02-04]"))
    findings = check(rig)
    assert [finding["text"] for finding in findings] == [
        f"{path} is newer than what slurmctld has in force: scontrol reconfigure"]

    rig.reconfigure()
    assert check(rig) == []


@pytest.mark.skipif(YAML, reason="this Slurm reads topology.yaml")
def test_a_topology_yaml_that_slurm_does_not_read_is_an_error_of_check(make_rig):
    rig = make_rig(8, cloud=True, leaves=2)
    assert check(rig) == []
    (rig.etc / "topology.yaml").write_text(TWO)
    assert any("Slurm before 25.05 does not read it" in finding["text"] for finding in check(rig))


def ranks_of(rig):
    """The nodes in the order of the ranks."""
    out = rig.run(["srun", "-N4", "-n4", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"]).stdout
    return [line.split()[1] for line in sorted(out.splitlines())]


@pytest.mark.parametrize("told", [False, True], ids=["not told", "SwitchAsNodeRank"])
def test_check_asks_for_ranks_by_switch_where_they_follow_the_names(make_rig, told):
    striped = "SwitchName=a Nodes=n[01,03]\nSwitchName=b Nodes=n[02,04]\nSwitchName=top Switches=a,b\n"
    by_name, by_switch = ["n01", "n02", "n03", "n04"], ["n01", "n03", "n02", "n04"]
    rig = make_rig(4, topology=striped, extra="TopologyParam=SwitchAsNodeRank" if told else "")

    asked = [finding["text"] for finding in check(rig) if finding["subject"] == "ranks"]
    if slurm_version() < (23, 2):  # there is no such parameter
        assert (ranks_of(rig), asked) == (by_name, [])
    elif slurm_version() < (26, 5) and not told:
        assert ranks_of(rig) == by_name
        assert len(asked) == 1
        assert asked[0].endswith("TopologyParam=SwitchAsNodeRank")
    else:  # 26.05 needs no telling
        assert (ranks_of(rig), asked) == (by_switch, [])
