"""railhead order and railhead verify-placement on jobs of a real controller."""

import json

from conftest import BUILD

RAILHEAD = BUILD / "cli" / "railhead"
SLEEP = "#!/bin/sh\nsleep 60\n"
OFF = {"RAILHEAD": "off"}


def verify(rig, job, *options):
    result = rig.run([RAILHEAD, "verify-placement", "--json", str(job), *options], check=False)
    return result.returncode, json.loads(result.stdout)["jobs"], result.stderr


def test_a_job_on_one_leaf_is_minimal_and_one_on_two_is_not(cluster):
    good = cluster.sbatch(SLEEP, "-w", "n[01-02]", "-N2", "--time=2", env=OFF)
    wide = cluster.sbatch(SLEEP, "-w", "n[03,05]", "-N2", "--time=2", env=OFF)
    for job in (good, wide):
        cluster.wait_job(job, states={"RUNNING"})

    status, jobs, _ = verify(cluster, good.id)
    assert status == 0 and jobs[0]["minimal"] is True and jobs[0]["nodes"] == ["n01", "n02"]

    status, jobs, _ = verify(cluster, wide.id)
    assert status == 1 and jobs[0]["minimal"] is False
    assert jobs[0]["levels"] == [{"level": 0, "span": 2, "least": 1}]
    assert jobs[0]["leaves"] == [{"name": "leaf1", "nodes": ["n03"]}, {"name": "leaf2", "nodes": ["n05"]}]


def test_excluded_nodes_could_not_have_been_taken(cluster):
    job = cluster.sbatch(SLEEP, "-N4", "--gres=gpu:8", "-x", "n[04,08]", "--time=2", env=OFF)
    cluster.wait_job(job, states={"RUNNING"})
    status, jobs, _ = verify(cluster, job.id)
    assert status == 0 and jobs[0]["levels"] == [{"level": 0, "span": 2, "least": 2}]


def test_a_job_that_waits_is_said_to(cluster):
    job = cluster.sbatch(SLEEP, "--hold", "-N2", "--time=2")
    status, jobs, told = verify(cluster, job.id)
    assert status == 2 and jobs[0]["state"] == "PENDING" and jobs[0]["minimal"] is None
    assert "no placement could be verified" in told


def test_array_tasks_and_components_are_verified_each(cluster):
    array = cluster.sbatch(SLEEP, "--array=1-2", "-N2", "--gres=gpu:1", "--time=2")
    het = cluster.sbatch("#!/bin/sh\n#SBATCH -n1 --time=2\n#SBATCH hetjob\n#SBATCH -N2 --time=2\nsleep 60\n")
    for job in (f"{array.id}_1", f"{array.id}_2", f"{het.id}+1"):
        cluster.wait_job(job, states={"RUNNING"})

    _, jobs, _ = verify(cluster, array.id)
    assert sorted(job["job"] for job in jobs) == [f"{array.id}_1", f"{array.id}_2"]
    _, jobs, _ = verify(cluster, f"{array.id}_2")
    assert [job["job"] for job in jobs] == [f"{array.id}_2"]
    _, jobs, _ = verify(cluster, het.id)
    assert [(job["job"], len(job["nodes"])) for job in jobs] == [(f"{het.id}+0", 1), (f"{het.id}+1", 2)]


def test_a_job_that_is_not_there_is_told_in_slurms_words(cluster):
    result = cluster.run([RAILHEAD, "verify-placement", "999999"], check=False)
    assert result.returncode == 2
    assert "railhead: job 999999: \"scontrol\" ended with an error: slurm_load_jobs error: Invalid job id" in result.stderr


def test_addresses_and_files_give_one_order(cluster):
    """Slurm itself tells each task where its node stands."""
    result = cluster.run(["salloc", "-w", "n[01-08]", "-N8", "--ntasks-per-node=2", "--time=2", "sh", "-c", f"""
        srun sh -c 'echo $SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN' |
            sort -k1.3r > addresses
        {RAILHEAD} order --addresses addresses
        echo ----
        {RAILHEAD} order --format list
    """], env=OFF)
    by_address, _, by_file = result.stdout.partition("----\n")
    assert by_file == "n01,n02,n03,n04,n05,n06,n07,n08\n"
    names = by_address.split()
    assert sorted(names) == [f"n{i:02}" for i in range(1, 9)]
    # Read in the order 08 to 01: so the leaf of n08 comes first, and its nodes as they were read.
    assert names == ["n08", "n07", "n06", "n05", "n04", "n03", "n02", "n01"]


def test_an_order_that_the_names_do_not_give(make_rig):
    topology = "SwitchName=a Nodes=n[01,03]\nSwitchName=b Nodes=n[02,04]\nSwitchName=top Switches=a,b\n"
    rig = make_rig(4, topology=topology)
    result = rig.run(["salloc", "-N4", "--ntasks-per-node=2", "--time=2", "sh", "-c", f"""
        srun -N4 sh -c 'echo $SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR' | sort | {RAILHEAD} order --addresses -
        {RAILHEAD} order --slots 2 --format slurm > hosts
        SLURM_HOSTFILE=hosts srun -n8 -m arbitrary sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort -n
    """], env=OFF)
    lines = result.stdout.splitlines()
    assert lines[:4] == ["n01", "n03", "n02", "n04"]
    assert [line.split()[1] for line in lines[4:]] == ["n01", "n01", "n03", "n03", "n02", "n02", "n04", "n04"]
