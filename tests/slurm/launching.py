"""Steps that tell what they found: a small cluster, and a program that each task runs.

The nodes have two CPUs that exist, each a NUMA node with four GPUs and four NICs
(tests/data/nodes/two-cpu-8gpu.xml), so the masks that tasks read back from /proc are real.
"""

import json

import pytest

from conftest import CHECKOUT, PLUGINS
from rig import Rig

TWO_CPU_XML = (CHECKOUT / "tests" / "data" / "nodes" / "two-cpu-8gpu.xml").read_text()
LINE = "{plugins}/spank_railhead.so topology={etc}/node.xml nccl_conf={etc}/nccl.conf cache={run}/railhead"
RAILS = [f"mlx5_{i}:1" for i in range(8)]
ALL_RAILS, FIRST_HALF, SECOND_HALF = ",".join(RAILS), ",".join(RAILS[:4]), ",".join(RAILS[4:])
SWAPPED = "--gpu-bind=mask_gpu:0xf0,0x0f"  # task 0 sees the second half of the GPUs

# What a task writes down about itself, in a file since srun mixes long lines of several tasks.
# slurmstepd starts it, so its parent's threads are slurmstepd's.
REPORT = """#!/usr/bin/env python3
import json, os, re
def status(pid, key):
    return re.search(key + r":\\s*(\\S+)", open(f"/proc/{pid}/status").read())[1]
env = dict(os.environ)
memory = open("/proc/self/numa_maps").readline().split()[1]  # the policy of the task: its first mapping has no own
task = {"step": env.get("SLURM_STEP_ID", "batch"), "task": int(env["SLURM_PROCID"]),
        "mask": status("self", "Cpus_allowed_list"), "memory": memory,
        "threads": int(status(os.getppid(), "Threads")), "env": env}
with open(os.path.join(os.path.dirname(__file__), "reports", "{step}.{task}".format(**task)), "x") as file:
    json.dump(task, file)
"""


def launch_rig(nodes=2, extra="", **options):
    """A cluster of such nodes, with the plugin of the nodes alone."""
    options.setdefault("plugstack", f"optional {LINE}\n")
    options["files"] = {"node.xml": TWO_CPU_XML, **options.get("files", {})}
    return Rig(nodes, plugins=PLUGINS, sockets=2, cores=1, threads=1,
               extra="LaunchParameters=use_interactive_step\n" + extra, **options)


@pytest.fixture(scope="module")
def launch(plugins):
    """A node that all tests of a file use."""
    with launch_rig(nodes=1) as rig:
        yield rig


@pytest.fixture
def start(plugins):
    """start(arguments of plugstack.conf, slurm.conf's lines, plugstack.conf's line): a node of a test's own."""
    rigs = []

    def start(arguments="", extra="", line=LINE):
        rigs.append(launch_rig(nodes=1, plugstack=f"optional {line} {arguments}\n", extra=extra))
        return rigs[-1].start()
    yield start
    for rig in rigs:
        rig.stop()


def add_report(rig):
    """Where the report program is."""
    path = rig.work / "report"
    if not path.exists():
        path.write_text(REPORT)
        path.chmod(0o755)
        (rig.work / "reports").mkdir()
        (rig.work / "reports").chmod(0o777)
    return path


def reports(rig):
    """The reports since the last call: of the batch or interactive step first, then by step and task."""
    files = list((rig.work / "reports").iterdir())
    found = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    return sorted(found, key=lambda report: (report["step"] != "batch", report["step"], report["task"]))


def srun(rig, *options, env=None):
    """The reports of the tasks of a step."""
    rig.run(["srun", *options, add_report(rig)], env=env)
    return reports(rig)


def batch(rig, commands, *options, env=None):
    """The reports of a batch script with these commands, where REPORT stands for the program."""
    job = rig.sbatch("#!/bin/sh\n" + commands.replace("REPORT", str(add_report(rig))) + "\n", *options, env=env)
    info = rig.wait_job(job)
    assert info["JobState"] == "COMPLETED", job.output()
    return reports(rig)
