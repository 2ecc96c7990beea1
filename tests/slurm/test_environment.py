"""Who sets a variable of a task, on real daemons: the user, NCCL's files, the policy or the node.

The nodes have eight GPUs and eight NICs; n01 and n02 have a type in the policy, n03 has none.
"""

import pytest

import test_launch
from conftest import BUILD, empty
from test_launch import ALL_RAILS, FIRST_HALF, add_report, launch_rig, reports

RAILHEAD = BUILD / "cli" / "railhead"
POLICY = """
[[node_type]]
name = "eight"
nodes = "n[01-02]"
rails = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9"]
socket_interface = "bond0"
rail_only = true
nvshmem = true
topo_file = "/opt/topo.xml"
env = { NCCL_IB_TC = "106" }
"""
DECLARED = ",".join([*ALL_RAILS.split(",")[:7], "mlx5_9:1"])  # mlx5_9 is on no node
OF_THE_JOB = {"NCCL_IB_HCA": "=" + DECLARED, "NCCL_SOCKET_IFNAME": "=bond0", "GLOO_SOCKET_IFNAME": "bond0",
              "NCCL_CROSS_NIC": "0", "NVSHMEM_HCA_LIST": DECLARED, "NCCL_TOPO_FILE": "/opt/topo.xml", "NCCL_IB_TC": "106"}


def start(policy=POLICY, **options):
    rig = launch_rig(3, policy=policy, **options)
    return rig.start()


@pytest.fixture(scope="module")
def launch(plugins):
    rig = start()
    yield rig
    rig.stop()


@pytest.fixture
def rig(launch):
    """The cluster of this file, empty and without what a test left."""
    yield launch
    empty(launch)
    for file in (launch.work / ".nccl.conf", launch.work / "own.conf", launch.etc / "nccl.conf"):
        file.unlink(missing_ok=True)


def srun(rig, *options, env=None):
    """The environments of the tasks of a step with GPUs."""
    rig.run(["srun", "--gres=gpu:8", *options, add_report(rig)], env=env)
    return [report["env"] for report in reports(rig)]


def of_the_job(env):
    return {name: env[name] for name in OF_THE_JOB if name in env}


# -- the policy reaches the task ----------------------------------------------------------------


def test_the_words_of_the_policy_arrive_in_each_task(rig):
    tasks = srun(rig, "-w", "n[01-02]", "--ntasks-per-node=2")
    assert [of_the_job(env) for env in tasks] == [OF_THE_JOB] * 4
    assert [env["UCX_NET_DEVICES"] for env in tasks] == [FIRST_HALF, ",".join(ALL_RAILS.split(",")[4:7])] * 2


def test_a_node_that_lacks_a_declared_rail_sets_the_list_all_the_same(rig):
    env, = srun(rig, "-w", "n01", "-n1")
    assert env["NCCL_IB_HCA"].endswith(",mlx5_9:1")
    assert "mlx5_9" not in env["RAILHEAD_NIC"]


def test_a_node_without_a_type_finds_its_own_rails_and_is_told_nothing_else(rig):
    env, = srun(rig, "-w", "n03", "-n1")
    assert of_the_job(env) == {"NCCL_IB_HCA": "=" + ALL_RAILS}


def test_a_step_without_gpus_is_told_nothing(rig):
    rig.run(["srun", "-w", "n01", "-n1", add_report(rig)])
    assert of_the_job(reports(rig)[0]["env"]) == {}


@pytest.mark.parametrize("options, env", [(["--railhead=off"], {}), ([], {"RAILHEAD": "off"}), (["--rail=off"], {})])
def test_off_is_off_for_the_policy_too(rig, options, env):
    task, = srun(rig, "-w", "n01", "-n1", *options, env=env)
    assert of_the_job(task) == {}


def test_a_change_of_the_policy_holds_for_the_next_step(plugins):
    with start() as rig:
        (rig.etc / "railhead.toml").write_text(POLICY.replace("106", "107"))
        assert srun(rig, "-w", "n01", "-n1")[0]["NCCL_IB_TC"] == "107"


# -- whose word counts ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*OF_THE_JOB, "UCX_NET_DEVICES"])
def test_the_environment_of_the_user_wins(rig, name):
    env, = srun(rig, "-w", "n01", "-n1", env={name: "mine"})
    assert env[name] == "mine"
    assert of_the_job(env) == {**OF_THE_JOB, **({name: "mine"} if name in OF_THE_JOB else {})}


@pytest.mark.parametrize("name", [*OF_THE_JOB, "UCX_NET_DEVICES"])
@pytest.mark.parametrize("whose", ["site", "user", "NCCL_CONF_FILE"])
def test_what_a_file_of_nccl_sets_is_left_to_it(rig, name, whose):
    path = {"site": rig.etc / "nccl.conf", "user": rig.work / ".nccl.conf", "NCCL_CONF_FILE": rig.work / "own.conf"}[whose]
    path.write_text(f"# ours\n{name}=file\n")
    env, = srun(rig, "-w", "n01", "-n1", env={"NCCL_CONF_FILE": str(path)} if whose == "NCCL_CONF_FILE" else {})
    assert name not in env
    assert of_the_job(env) == {key: value for key, value in OF_THE_JOB.items() if key != name}


def test_the_environment_of_the_user_wins_over_a_file_and_the_policy(rig):
    (rig.etc / "nccl.conf").write_text("NCCL_IB_TC=file\n")
    env, = srun(rig, "-w", "n01", "-n1", env={"NCCL_IB_TC": "mine"})
    assert env["NCCL_IB_TC"] == "mine"


# -- steps inside of steps ------------------------------------------------------------------------


def test_a_step_inside_of_a_batch_job_gets_the_values_of_its_own_node(rig):
    """n01 has a type, n03 has none: nothing of n01's stays, and what the script changed does."""
    job = rig.sbatch("#!/bin/sh\n"
                     f"{add_report(rig)}\n"
                     f"export NCCL_IB_TC=script\n"
                     f"srun -n1 -N1 -w n03 {add_report(rig)}\n"
                     f"srun -n2 -N1 -w n01 {add_report(rig)}\n", "-w", "n[01,03]", "-N2", "-n4", "--gres=gpu:8")
    assert rig.wait_job(job)["JobState"] == "COMPLETED", job.output()
    outer, far, *near = [report["env"] for report in reports(rig)]
    assert of_the_job(outer) == OF_THE_JOB
    assert "UCX_NET_DEVICES" not in outer
    assert of_the_job(far) == {"NCCL_IB_HCA": "=" + ALL_RAILS, "NCCL_IB_TC": "script"}
    assert [of_the_job(env) for env in near] == [{**OF_THE_JOB, "NCCL_IB_TC": "script"}] * 2
    assert [env["UCX_NET_DEVICES"] for env in near] == [FIRST_HALF, ",".join(ALL_RAILS.split(",")[4:7])]


def test_srun_inside_of_sbatch_inside_of_salloc(rig):
    """Three levels of environments, each inherited by the next."""
    script = rig.work / "inner.sh"
    script.write_text(f"#!/bin/sh\nsrun -n1 {add_report(rig)}\n")
    script.chmod(0o755)
    rig.run(["salloc", "-w", "n01", "-n2", "--gres=gpu:8"],
            input=f"{add_report(rig)}\nsbatch --wait -w n03 -n1 --gres=gpu:8 -o /dev/null {script}\n")
    found = [report["env"] for report in reports(rig)]
    assert len(found) == 2
    assert sorted(of_the_job(env).get("NCCL_IB_TC", "") for env in found) == ["", "106"]
    inner = next(env for env in found if "NCCL_IB_TC" not in env)
    assert of_the_job(inner) == {"NCCL_IB_HCA": "=" + ALL_RAILS}
    assert inner["UCX_NET_DEVICES"] == ALL_RAILS


def test_each_component_of_a_heterogeneous_step_gets_the_type_of_its_node(rig):
    """Its list of nodes is that of all components, and a node's place that within its own."""
    rig.run(["srun", "-w", "n03", "-n1", "--gres=gpu:8", add_report(rig), ":", "-w", "n01", "-n1", "--gres=gpu:8", add_report(rig)])
    found = {report["env"]["SLURMD_NODENAME"]: of_the_job(report["env"]) for report in reports(rig)}
    assert found == {"n01": OF_THE_JOB, "n03": {"NCCL_IB_HCA": "=" + ALL_RAILS}}


def test_a_step_that_is_switched_off_finds_nothing_of_the_batch_step(rig):
    job = rig.sbatch(f"#!/bin/sh\nsrun -n1 --railhead=off {add_report(rig)}\n", "-w", "n01", "--gres=gpu:8")
    assert rig.wait_job(job)["JobState"] == "COMPLETED", job.output()
    env = reports(rig)[0]["env"]
    assert of_the_job(env) == {}
    assert "RAILHEAD_SET" not in env


def test_a_job_that_gets_no_environment_is_told_all_the_same(rig):
    env, = srun(rig, "-w", "n01", "-n1", "--export=NONE", env={"NCCL_IB_TC": "mine"})
    assert of_the_job(env) == OF_THE_JOB


# -- trouble with the policy ----------------------------------------------------------------------


@pytest.mark.parametrize("mode, policy, message", [
    (0o644, POLICY + "memory = \"near\"\n", "expected one of"),
    (0o664, POLICY, "can be written by others"),
    (0o600, POLICY, "railhead.toml"),
])
def test_a_bad_policy_is_one_line_of_the_log_and_the_job_goes_on(plugins, mode, policy, message):
    with start() as rig:
        file = rig.etc / "railhead.toml"
        file.write_text(policy)
        file.chmod(mode)
        env, = srun(rig, "-w", "n01", "-n1")
        assert of_the_job(env) == {"NCCL_IB_HCA": "=" + ALL_RAILS}
        lines = [line for line in rig.log("n01").splitlines() if "going on without the policy" in line]
        assert len(lines) == 1 and message in lines[0]
        test_launch.assert_nothing_drained(rig)


def test_no_policy_is_no_trouble(plugins):
    with start(policy=None) as rig:
        env, = srun(rig, "-w", "n01", "-n1")
        assert of_the_job(env) == {"NCCL_IB_HCA": "=" + ALL_RAILS}
        assert "policy" not in rig.log("n01")


# -- railhead rails --why in a job ----------------------------------------------------------------


def test_why_tells_a_task_who_won(rig):
    def why(variable, node="n01", env=None):
        return rig.run(["srun", "-w", node, "-n1", "--gres=gpu:4", RAILHEAD, "rails", f"--why={variable}"], env=env).stdout
    assert 'n01: node type "eight"\n\nNCCL_IB_TC is set by node type "eight"\n' in why("NCCL_IB_TC")
    assert "NCCL_IB_TC is set by the environment\n" in why("NCCL_IB_TC", env={"NCCL_IB_TC": "1"})
    assert "n03: no node type in the policy\n\nNCCL_IB_TC is not set" in why("NCCL_IB_TC", "n03")
    assert "this job has" not in why("NCCL_IB_HCA") + why("UCX_NET_DEVICES")
    assert f"->  automatic    this node  {FIRST_HALF}\n" in why("UCX_NET_DEVICES")
    (rig.work / ".nccl.conf").write_text("NCCL_IB_HCA==mlx5_1\n")
    assert f"NCCL_IB_HCA is set by {rig.work}/.nccl.conf\n" in why("NCCL_IB_HCA")
