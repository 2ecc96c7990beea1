"""Files of a planned fabric, read by a real controller.

slurmctld alone runs: there is no node to plan for yet.
"""

import json
import re
import subprocess

import pytest

from conftest import BUILD
from rig import slurm_version

RAILHEAD = BUILD / "cli" / "railhead"
BLOCKS = slurm_version() >= (24, 5)
YAML = slurm_version() >= (25, 5)
FORMS = {
    "tree": [],
    "pods": ["--radix", "16", "--nics", "2", "--gpus-per-node", "2"],
    "block": ["--topology", "block"],
    "nvl72": ["--design", "nvl72"],
    "tree-yaml": ["--yaml"],
    "block-yaml": ["--yaml", "--topology", "block"],
}
NEEDS = {"block": BLOCKS, "nvl72": BLOCKS, "tree-yaml": YAML, "block-yaml": YAML}


def plan(folder, *words, nodes=288):
    return subprocess.run([RAILHEAD, "fabric", "plan", "--nodes", str(nodes), "--json", "--gpu-type", "h100",
                           "--sockets", "2", "--cores", "32", "--memory", "1000GB", "--write", folder, *words],
                          capture_output=True, text=True, check=False)


def controller(make_rig, folder):
    """A controller with the files as they are written, and the Railhead that they come with.

    With an address more: the names of the nodes are in no DNS here, and slurmctld tries each for ten seconds.
    """
    files = {path.name: path.read_text() for path in folder.iterdir()}
    policy = files.pop("railhead.toml")
    assert files["nodes.conf"].count("State=UNKNOWN") == 1
    files["nodes.conf"] = files["nodes.conf"].replace("State=UNKNOWN", "NodeAddr=localhost State=UNKNOWN")
    return make_rig([], cloud=True, partitions="Include nodes.conf", policy=policy, files=files)


def topology(rig):
    """{name: number of nodes} of the switches, or blocks, that the controller has."""
    lines = rig.run(["scontrol", "-o", "show", "topology"], user="root").stdout.splitlines()
    found = (re.search(r"(?:SwitchName|BlockName)=(\S+) .*?Nodes=(\S+)", line) for line in lines if "AggregatedBlock" not in line)
    return {match[1]: len(rig.hostnames(match[2])) for match in found if match}


@pytest.mark.parametrize("form", [form for form in FORMS if NEEDS.get(form, True)])
def test_a_controller_starts_on_the_written_files_and_has_the_planned_fabric(make_rig, tmp_path, form):
    written = plan(tmp_path / "site", *FORMS[form])
    assert written.returncode == 0, written.stderr
    planned = json.loads(written.stdout)
    rig = controller(make_rig, tmp_path / "site")

    nodes = rig.run(["sinfo", "-h", "-N", "-o", "%N %G"], user="root").stdout.split("\n")[:-1]
    assert len(nodes) == 288
    assert nodes[0].split()[0] == "gpu001"
    assert {line.split()[1] for line in nodes} == {f"gpu:h100:{planned['gpus_per_node']}"}
    sizes = topology(rig)
    leaf = {"nvl72": 18}.get(form, planned["unit_nodes"])
    leaves = {name: size for name, size in sizes.items() if re.match("su|block", name)}
    assert len(leaves) == -(-288 // leaf)
    assert sum(leaves.values()) == 288
    assert max(leaves.values()) == leaf
    if "block" not in form and form != "nvl72":
        assert sizes["core" if planned["tiers"] == 3 else "spine"] == 288
        assert sum(name.startswith("pod") for name in sizes) == (planned["pods"] if planned["pods"] > 1 else 0)

    # Our plugin has taken the policy, and nothing of the site is wrong.
    check = rig.run([RAILHEAD, "check", "--json"], user="root", check=False)
    wrong = [finding for finding in json.loads(check.stdout)["findings"] if finding["level"] == "error"]
    assert wrong == []


@pytest.mark.parametrize("form", [form for form in FORMS if not NEEDS.get(form, True)])
def test_what_the_installed_slurm_cannot_read_is_refused_with_the_reason(tmp_path, form):
    refused = plan(tmp_path / "site", *FORMS[form])

    assert refused.returncode == 2
    assert re.search(r"Slurm \d\d\.\d\d (has no topology/block|does not read topology.yaml)", refused.stderr)
    assert not (tmp_path / "site").exists()


@pytest.mark.skipif(not BLOCKS, reason="topology/block with BlockSizes came with Slurm 24.05")
def test_a_last_block_that_is_not_full_is_written_for_who_takes_it(make_rig, tmp_path):
    written = plan(tmp_path / "site", "--topology", "block", nodes=279)
    if not YAML:
        assert written.returncode == 2
        assert "the last one has 23 of 32 nodes; plan 288 nodes" in written.stderr
        return
    assert written.returncode == 0, written.stderr
    rig = controller(make_rig, tmp_path / "site")
    assert sorted(topology(rig).values()) == [23] + 8 * [32]
