"""railhead rails on the nodes of a job: whether they have the same rails, told under a real srun."""

import re

from conftest import BUILD, CHECKOUT

RAILHEAD = BUILD / "cli" / "railhead"
DGX = (CHECKOUT / "tests" / "data" / "nodes" / "dgx-h100.xml").read_text()
LAME = re.sub(r'<object type="OSDev"[^>]*name="mlx5_11".*?</object>', "", DGX, flags=re.DOTALL)


def gather(rig, nodes, what, *, lame=()):
    """What each of these nodes writes, as srun hands it on with labels."""
    folder = rig.work / "recorded"
    folder.mkdir(exist_ok=True)
    for name in nodes:
        (folder / f"{name}.xml").write_text(LAME if name in lame else DGX)
    folder.chmod(0o755)
    script = f"cd {folder}; exec {RAILHEAD} rails {what} --hwloc-xml $SLURMD_NODENAME.xml"
    return rig.run(["srun", "--label", f"-N{len(nodes)}", "--ntasks-per-node=1", "-w", ",".join(nodes),
                    "--time=2", "sh", "-c", script]).stdout


def compare(rig, text):
    result = rig.run([RAILHEAD, "rails", "--compare", "-"], input=text, check=False)
    return result.returncode, result.stdout, result.stderr


def test_nodes_of_one_type_have_one_fingerprint(cluster):
    for what in ("--fingerprint", "--json"):
        status, told, errors = compare(cluster, gather(cluster, ["n01", "n02", "n03"], what))
        assert (status, errors) == (0, "")
        assert told.startswith("3 nodes, the same rails\n")


def test_the_node_that_lacks_a_rail_is_named(cluster):
    for what in ("--fingerprint", "--json"):
        status, told, errors = compare(cluster, gather(cluster, ["n01", "n02", "n03"], what, lame=["n02"]))
        assert (status, errors) == (1, "")
        assert told.startswith("3 nodes, 2 kinds of rails\n")
        assert "  1 node: n02.xml\n    7 rails" in told
        assert "    missing by name: mlx5_11:1\n" in told


def test_what_srun_says_besides_is_no_node(cluster):
    text = gather(cluster, ["n01"], "--fingerprint") + "srun: error: n02: task 1: Exited with exit code 2\n"
    status, told, errors = compare(cluster, text)
    assert (status, told) == (2, "")
    assert errors.startswith("railhead: standard input:2:1: ")
