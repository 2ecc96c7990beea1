"""The rails of a node that are down: what slurmd's health check and a step make of it.

The nodes are two-cpu-8gpu.xml; their ports are a tree of files that a test can break.
"""

import re
import time

import pytest

from conftest import BUILD, CHECKOUT
from keeper import wait_until
from rig import Rig

RAILHEAD = BUILD / "cli" / "railhead"
TWO_CPU_XML = CHECKOUT / "tests" / "data" / "nodes" / "two-cpu-8gpu.xml"
DOWN = "mlx5_3 port 1 down"
GOOD_PORT = {
    "ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp", "ports/1/link_layer": "InfiniBand",
    "ports/1/rate": "400 Gb/sec (4X NDR)", "ports/1/lid": "0x1a",
    "device/current_link_speed": "32.0 GT/s PCIe", "device/current_link_width": "16",
}


def write_port(root, nic, name, text):
    path = root / "sys" / "class" / "infiniband" / nic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def take_cable(root, nic="mlx5_3"):
    write_port(root, nic, "ports/1/state", "1: DOWN")
    write_port(root, nic, "ports/1/phys_state", "2: Polling")


@pytest.fixture
def root(tmp_path):
    """A root folder whose eight rails are well, for all to read."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 != 0o005 and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    for i in range(8):
        for name, text in GOOD_PORT.items():
            write_port(tmp_path, f"mlx5_{i}", name, text)
    return tmp_path


@pytest.fixture
def start(plugins):
    """start(health=..., ...): a cluster of two nodes with the plugin, and the ports of `root`."""
    rigs = []

    def start(nodes=2, plugstack="", **options):
        rigs.append(Rig(nodes, plugins=plugins, sockets=2, cores=1, threads=1, plugstack=plugstack,
                        files={"node.xml": TWO_CPU_XML.read_text()}, **options))
        return rigs[-1].start()
    yield start
    for rig in rigs:
        rig.stop()


def line(root, health, status="optional"):
    return (f"{status} {{plugins}}/spank_railhead.so topology={{etc}}/node.xml nccl_conf={{etc}}/nccl.conf "
            f"root={root} health={health}\n")


def states(rig):
    return dict(row.split(maxsplit=1) for row in
                rig.run(["sinfo", "--noheader", "-N", "--format=%N %T"], user="root").stdout.splitlines())


# -- a step -----------------------------------------------------------------------------------


def test_warn_is_seen_once_a_node_and_the_step_runs(start, root):
    rig = start(plugstack=line(root, "warn"))
    take_cable(root)
    result = rig.run(["srun", "-N2", "-n4", "--gres=gpu:8", "echo", "ran"])
    assert result.stdout == "ran\n" * 4
    told = re.findall(r"railhead: (n\d+): " + DOWN, result.stderr)
    assert sorted(told) == ["n01", "n02"]


def test_note_is_for_the_log_alone(start, root):
    rig = start(nodes=1, plugstack=line(root, "note"))
    take_cable(root)
    result = rig.run(["srun", "-n2", "--gres=gpu:8", "echo", "ran"])
    assert (result.stdout, result.stderr) == ("ran\n" * 2, "")
    assert f"railhead: {DOWN}" in rig.log("n01")


def test_strict_fails_the_step_with_the_reason_until_the_rail_is_back(start, root):
    rig = start(nodes=1, plugstack=line(root, "strict", status="required"))
    take_cable(root)
    result = rig.run(["srun", "-n2", "--gres=gpu:8", "echo", "ran"], check=False)
    assert result.returncode != 0 and "ran" not in result.stdout
    assert result.stderr.count(f"railhead: n01: {DOWN}: the step may not start here") == 1
    time.sleep(0.5)  # a drain comes with the epilog
    assert not re.search("drain|down|fail", states(rig)["n01"])

    assert rig.run(["srun", "-n1", "echo", "ran"]).stdout == "ran\n"  # no GPUs
    assert rig.run(["srun", "-n1", "--gres=gpu:1", "--rail=off", "echo", "ran"]).stdout == "ran\n"
    write_port(root, "mlx5_3", "ports/1/state", "4: ACTIVE")
    assert rig.run(["srun", "-n2", "--gres=gpu:8", "echo", "ran"]).stdout == "ran\n" * 2


# -- HealthCheckProgram -----------------------------------------------------------------------


def health_program(folder, root, *options):
    """What a site names as HealthCheckProgram: it keeps what came of each call."""
    path = folder / "health"
    words = " ".join(map(str, options))
    path.write_text(f"""#!/bin/sh
test ! -e {folder}/environment || . {folder}/environment
{RAILHEAD} health {TWO_CPU_XML} --root {root} {words} >>{folder}/said.$SLURMD_NODENAME 2>&1
echo "status $?" >>{folder}/said.$SLURMD_NODENAME
""")
    path.chmod(0o755)
    return path


def test_slurmd_drains_a_node_whose_rail_is_down_and_nobody_resumes_it(start, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("health")
    program = health_program(folder, root, "--drain")
    rig = start(extra=f"HealthCheckProgram={program}\nHealthCheckInterval=1")

    # slurmd hands its own environment to nobody; the test's slurm.conf is not where scontrol looks.
    (folder / "environment").write_text(f"export SLURM_CONF={rig.conf}\n")

    def said(name):
        path = folder / f"said.{name}"
        return path.read_text() if path.exists() else ""

    assert wait_until(lambda: said("n01").count("status 0") >= 2, 30), said("n01")
    assert "railhead: healthy: 8 GPUs, 8 rails" in said("n01")
    assert set(states(rig).values()) == {"idle"}

    take_cable(root)
    assert wait_until(lambda: set(states(rig).values()) == {"drained"}, 30), states(rig)
    reasons = rig.run(["sinfo", "--noheader", "-R", "--format=%E"], user="root").stdout.splitlines()
    assert set(reasons) == {f"railhead: {DOWN}"}
    assert wait_until(lambda: "railhead: n01 is drained already" in said("n01"), 30), said("n01")

    write_port(root, "mlx5_3", "ports/1/state", "4: ACTIVE")
    healthy = said("n01").count("status 0")
    assert wait_until(lambda: said("n01").count("status 0") > healthy + 1, 30)
    assert set(states(rig).values()) == {"drained"}


def test_a_look_that_only_tells_drains_nobody(start, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("health")
    take_cable(root)
    rig = start(nodes=1, extra=f"HealthCheckProgram={health_program(folder, root)}\nHealthCheckInterval=1")
    said = folder / "said.n01"
    assert wait_until(lambda: said.exists() and said.read_text().count("status 1") >= 2, 30)
    assert f"railhead: {DOWN}\n" in said.read_text()
    assert states(rig) == {"n01": "idle"}
