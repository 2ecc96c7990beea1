"""CPUs and memory of tasks and of the processes that a launcher starts in one, on real daemons.

Memory node 0 is all that this machine has, so what is asked of node 1 is refused for real.
"""

import json
import re

import pytest

from conftest import BUILD, empty
from launching import (FIRST_HALF, SECOND_HALF, SWAPPED, add_report, batch, launch, reports, srun,  # noqa: F401
                       start)

RAILHEAD = BUILD / "cli" / "railhead"

# A launcher as torchrun is: one task starts a process for each local rank and waits for all.
LAUNCHER = """#!/usr/bin/env python3
import os, subprocess, sys
count, style, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
running = []
for rank in range(count):
    env = {**os.environ, "SLURM_PROCID": str(rank)}  # for the report alone
    if style == "narrowing":
        env["CUDA_VISIBLE_DEVICES"] = env["CUDA_VISIBLE_DEVICES"].split(",")[rank]
    else:
        env[style] = str(rank)
    running.append(subprocess.Popen(command, env=env))
sys.exit(max(process.wait() for process in running))
"""


@pytest.fixture
def rig(launch):
    yield launch
    empty(launch)
    if (launch.work / "reports").exists():
        reports(launch)  # of a step that failed


def values(tasks, name):
    return [task["env"].get(name) for task in tasks]


# -- CPUs -------------------------------------------------------------------------------------


def test_a_node_of_64_cpus_on_a_machine_that_grants_two(cluster):
    # The plan for all 64 is asserted in tests/unit/affinity_test.cpp; of it, CPUs 0 and 1 are granted here.
    tasks = srun(cluster, "-N1", "-n8", "--exclusive", "--gres=gpu:8")
    assert {task["mask"] for task in tasks} == {"0-1"}
    assert values(tasks, "RAILHEAD_BINDING") == ["gpu"] * 4 + [f"none: no granted CPU is near GPU {i}" for i in range(4, 8)]
    assert values(tasks, "RAILHEAD_CPUS") == ["0-1"] * 4 + [None] * 4


def test_cpus_on_the_other_socket_leave_the_task_its_mask_and_the_nic_of_its_gpu(rig):
    # Bug reports 03, 04 and 12: the one CPU that Slurm gave is near one of the GPUs and far from the other.
    tasks = batch(rig, "srun -n2 --overcommit --gpu-bind=mask_gpu:0x01,0x10 REPORT", "-n1", "--gres=gpu:8")
    cpu = int(tasks[0]["mask"])
    near, far = tasks[cpu], tasks[1 - cpu]
    assert [near["mask"], far["mask"]] == [str(cpu)] * 2
    assert near["env"]["RAILHEAD_BINDING"] == "gpu"
    assert far["env"]["RAILHEAD_BINDING"] == f"none: no granted CPU is near GPU {4 * (1 - cpu)}"
    assert far["memory"] == "default"
    assert values(tasks, "UCX_NET_DEVICES") == ["mlx5_0:1", "mlx5_4:1"]


def test_without_a_task_plugin_the_tasks_are_bound_within_the_node(start):
    # Bug report 37: Slurm binds nobody.
    rig = start(extra="TaskPlugin=task/none")
    tasks = srun(rig, "-n2", "--gres=gpu:8")
    assert [task["mask"] for task in tasks] == ["0", "1"]
    assert [task["mask"] for task in srun(rig, "-n2", "--gres=gpu:8", "--railhead=off")] == ["0-1", "0-1"]


def test_two_tasks_with_one_gpu_are_told_of_once(rig):
    # Bug report 06: --gpu-bind=single may give several tasks the same GPU.
    result = rig.run(["srun", "-n2", "--gres=gpu:8", "--gpu-bind=map_gpu:3,3", add_report(rig)])
    assert result.stderr.count("railhead: ") == 1
    assert "railhead: tasks 0 and 1 of node n01 both have GPU 3: see --gpu-bind" in result.stderr
    assert values(reports(rig), "UCX_NET_DEVICES") == ["mlx5_3:1"] * 2
    result = rig.run(["srun", "-n2", "--gres=gpu:8", SWAPPED, "true"])
    assert "both have" not in result.stderr


# -- memory -----------------------------------------------------------------------------------


def test_memory_is_preferred_near_the_gpus_where_it_may_be(rig):
    first, second = srun(rig, "-n2", "--gres=gpu:8")
    assert (first["memory"], first["env"]["RAILHEAD_MEMORY"]) == ("prefer:0", "prefer: 0")
    assert second["memory"] == "default"
    assert second["env"]["RAILHEAD_MEMORY"] == "none: memory node 1 is not allowed here"


@pytest.mark.parametrize("options, env", [(["--mem-bind=none"], {}), (["--mem-bind", "local"], {}), ([], {"SLURM_MEM_BIND": "local"})])
def test_mem_bind_of_the_user_wins(rig, options, env):
    task, _ = srun(rig, "-n2", "--gres=gpu:8", *options, env=env)
    assert task["env"]["RAILHEAD_MEMORY"] == "none: --mem-bind was given"
    assert task["memory"] != "prefer:0"
    assert task["env"]["RAILHEAD_BINDING"] == "gpu"


def test_mem_bind_that_only_talks_does_not_count(rig):
    assert srun(rig, "-n2", "--gres=gpu:8", "--mem-bind=quiet")[0]["memory"] == "prefer:0"


def test_cpu_bind_of_the_user_leaves_memory_to_where_the_cpus_are(rig):
    swapped = srun(rig, "-n2", "--gres=gpu:8", "--cpu-bind=map_cpu:1,0")
    assert values(swapped, "RAILHEAD_MEMORY")[0] == "none: none of its CPUs is near memory node 0"
    assert srun(rig, "-n2", "--gres=gpu:8", "--cpu-bind=map_cpu:0,1")[0]["memory"] == "prefer:0"


def test_memory_can_be_bound_and_switched_off_by_the_site(start):
    assert srun(start("memory=bind"), "-n2", "--gres=gpu:8")[0]["memory"] == "bind:0"
    task = srun(start("memory=off"), "-n2", "--gres=gpu:8")[0]
    assert (task["memory"], task["env"]["RAILHEAD_MEMORY"]) == ("default", "none: switched off")


def test_batch_steps_keep_their_memory_as_they_keep_their_cpus(rig):
    outer, *inner = batch(rig, "REPORT; srun -n2 REPORT", "-N1", "-n2", "--gres=gpu:8")
    assert (outer["memory"], outer["env"]["RAILHEAD_MEMORY"]) == ("default", "none: batch step")
    assert inner[0]["memory"] == "prefer:0"


# -- OMP_NUM_THREADS --------------------------------------------------------------------------


def test_omp_num_threads_is_set_only_by_policy_and_not_over_the_users(rig, start):
    size = ["-N1", "-n2", "--gres=gpu:8"]
    assert values(srun(rig, *size), "OMP_NUM_THREADS") == [None, None]
    rig = start("omp_num_threads=cores")
    assert values(srun(rig, *size), "OMP_NUM_THREADS") == ["1", "1"]
    assert values(srun(rig, *size, env={"OMP_NUM_THREADS": "7"}), "OMP_NUM_THREADS") == ["7", "7"]
    assert values(srun(rig, *size, "--cpu-bind=none"), "OMP_NUM_THREADS") == [None, None]
    # A step inside a task of ours does not take our value for the user's.
    inner = batch(rig, "srun -n1 --gres=gpu:2 --overlap sh -c 'srun -n1 --gres=gpu:2 --overlap --railhead=off REPORT'", *size)
    assert values(inner, "OMP_NUM_THREADS") == [None]


# -- launchers --------------------------------------------------------------------------------


def launched(rig, style, *command, ranks=8, options=("-n1", "-c2", "--gres=gpu:8"), env=None):
    """What srun said, and the reports of `ranks` processes that a launcher started."""
    program = rig.work / "launcher"
    program.write_text(LAUNCHER)
    program.chmod(0o755)
    result = rig.run(["srun", *options, program, str(ranks), style, *command, add_report(rig)], env=env)
    return result.stderr, reports(rig)


def execute(*options):
    return [RAILHEAD, "exec", *options, "--"]


@pytest.mark.parametrize("style", ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "narrowing"])
def test_exec_binds_each_local_rank_of_a_launcher(rig, style):
    said, ranks = launched(rig, style, *execute())
    assert said == ""
    assert [rank["mask"] for rank in ranks] == ["0"] * 4 + ["1"] * 4
    assert [rank["memory"] for rank in ranks] == ["prefer:0"] * 4 + ["default"] * 4
    assert values(ranks, "UCX_NET_DEVICES") == [f"mlx5_{i}:1" for i in range(8)]
    assert values(ranks, "RAILHEAD_CPUS") == ["0"] * 4 + ["1"] * 4
    assert len(set(values(ranks, "NCCL_IB_HCA"))) == 1  # one list for the job, never one a rank


def test_without_exec_the_ranks_have_the_mask_of_the_task(rig):
    _, ranks = launched(rig, "LOCAL_RANK")
    assert {rank["mask"] for rank in ranks} == {"0-1"}
    assert {rank["memory"] for rank in ranks} == {"default"}


def test_the_map_gives_each_rank_its_memory(rig):
    task, = srun(rig, "-n1", "-c2", "--gres=gpu:8")
    gpus = json.loads(task["env"]["RAILHEAD_GPU_MAP"])
    assert [gpu.get("memory") for gpu in gpus] == [0] * 4 + [None] * 4
    assert [gpu["visible"] for gpu in gpus] == task["env"]["CUDA_VISIBLE_DEVICES"].split(",")


def test_exec_takes_the_rank_from_the_variable_that_it_is_told(rig):
    _, ranks = launched(rig, "MY_RANK", *execute("--local-rank-from", "MY_RANK"))
    assert [rank["mask"] for rank in ranks] == ["0"] * 4 + ["1"] * 4


def test_exec_without_a_rank_says_so_and_runs_the_command(rig):
    # SLURM_LOCALID is 0 for all of them, and would put them all on one GPU's CPUs.
    said, ranks = launched(rig, "NOBODYS_RANK", *execute(), ranks=1)
    assert re.search(r"railhead: exec: no local rank in the environment: .*report is not bound", said)
    assert ranks[0]["mask"] == "0-1"


def test_exec_without_a_map_says_so_once(rig):
    said, ranks = launched(rig, "LOCAL_RANK", *execute(), options=("-n1", "-c2", "--gres=gpu:8", "--railhead=off"))
    assert said.count("there is no RAILHEAD_GPU_MAP") == 1
    assert len(ranks) == 8


def test_exec_leaves_what_the_user_set(rig):
    _, ranks = launched(rig, "LOCAL_RANK", *execute(), env={"UCX_NET_DEVICES": "all"})
    assert set(values(ranks, "UCX_NET_DEVICES")) == {"all"}


def test_exec_stays_within_the_mask_of_the_task(rig):
    # A task of four GPUs that has one CPU: its ranks share that.
    said, ranks = launched(rig, "LOCAL_RANK", *execute("--verbose"), ranks=4, options=("-n1", "--gres=gpu:8", "--gpu-bind=mask_gpu:0x0f"))
    assert len({rank["mask"] for rank in ranks}) == 1 and "-" not in ranks[0]["mask"]
    assert said.count("local rank") == 4


def test_exec_in_a_batch_script_binds_the_ranks_of_mpirun(rig):
    program = rig.work / "launcher"
    program.write_text(LAUNCHER)
    program.chmod(0o755)
    command = " ".join(map(str, execute()))
    ranks = batch(rig, f"{program} 8 OMPI_COMM_WORLD_LOCAL_RANK {command} REPORT", "-N1", "-n2", "--gres=gpu:8")
    assert [rank["mask"] for rank in ranks] == ["0"] * 4 + ["1"] * 4


@pytest.mark.parametrize("command, status", [("/nonexistent", 127), ("/", 126), ("false", 1)])
def test_exec_ends_as_its_command_does(rig, command, status):
    result = rig.run(["srun", "-n1", "-c2", "--gres=gpu:8", *execute(), command], env={"LOCAL_RANK": "0"}, check=False)
    assert result.returncode == status


# -- the line ---------------------------------------------------------------------------------

SECOND_LINE = ("railhead: node n01 task 1 rank 1: GPU 4 (0000:33:00.0), 5 (0000:34:00.0), 6 (0000:43:00.0), 7 (0000:44:00.0), "
               f"CPUs 1 (NUMA 1), memory as it was, NIC {SECOND_HALF} PIX")


def test_verbose_tells_each_task_what_it_got(rig, start):
    size = ["srun", "-n2", "--gres=gpu:8"]
    for options, env in (([], {"RAILHEAD_VERBOSE": "1"}), (["--cpu-bind=verbose"], {})):
        lines = rig.run([*size, *options, "true"], env=env).stderr.splitlines()
        ours = [line for line in lines if "railhead: " in line]
        assert len(ours) == 2
        assert any(SECOND_LINE in line for line in ours), ours
        assert any(f"CPUs 0 (NUMA 0), memory 0, NIC {FIRST_HALF}" in line for line in ours)
    assert "railhead" not in rig.run([*size, "true"]).stderr
    assert SECOND_LINE in rig.run(["srun", "-n2", "--gres=gpu:8", "true"], env={"RAILHEAD_VERBOSE": "yes"}).stderr
    assert SECOND_LINE in start("verbose").run([*size, "true"]).stderr


def test_the_line_says_why_cpus_are_not_ours(rig):
    text = rig.run(["srun", "-n1", "-c2", "--gres=gpu:8", "true"], env={"RAILHEAD_VERBOSE": "1"}).stderr
    assert "CPUs 0-1 (NUMA 0-1) as they were: it has all GPUs of the step, memory as it was" in text
