"""Limits of a QOS or an association: no job that they let start on stock Slurm waits or is refused with Railhead.

A whole node counts with all of its CPUs, so a job that is made exclusive can break a limit that it kept.
"""

import pytest

from conftest import railhead_rig
from keeper import wait_until
from rig import RigError

FORMS = ["--gpus=16", "--gpus=16 -n16", "-n16 --gpus-per-task=1", "-n16 -c2 --gpus-per-task=1", "-N2 --gres=gpu:8",
         "-N2 --gpus-per-node=8 --ntasks-per-node=8", "--gpus=16 --exclusive", "--gpus=1", "--gpus=24", "-n64"]


@pytest.fixture(scope="module")
def limited(plugins):
    rig = railhead_rig(160, cloud=True, enforce="limits,qos,safe")
    try:
        rig.start()
    except RigError as error:
        if "_check_mysql_concat_is_sane: null" not in str(error):
            raise
        pytest.skip("this slurmdbd does not start on this MariaDB: it does not get the answer to its first question")
    yield rig
    rig.stop()


def outcomes(rig, env):
    """What becomes of a job of each form: "refused", or whether it starts."""
    jobs = {form: rig.run(["sbatch", "--parsable", "--time=5", *form.split(), "--wrap=true"], env=env, check=False) for form in FORMS}

    def state(result):
        return "refused" if result.returncode else rig.job_info(result.stdout.strip())["JobState"]

    def settled():
        return all(state(result) != "PENDING" for result in jobs.values())
    wait_until(settled, 3, 0.2)  # the scheduler looks every second
    found = {form: "waits" if state(result) == "PENDING" else "refused" if result.returncode else "starts"
             for form, result in jobs.items()}
    rig.run(["scancel", f"--user={rig.user}"], user="root")
    assert wait_until(lambda: not rig.run(["squeue", "--noheader"], user="root").stdout, 30)
    return found


@pytest.mark.parametrize("limit, flags, why", [
    ("MaxTRESPerJob=cpu=32", "DenyOnLimit", "a whole node has 64"),
    ("MaxTRESPerJob=cpu=32", "", "the same, and a job beyond it waits for ever"),
    ("MaxTRESPerJob=node=2", "DenyOnLimit", "the least that sixteen GPUs need"),
    ("MaxTRESPerJob=gres/gpu=16", "DenyOnLimit", "what most forms ask for"),
    ("GrpTRES=cpu=100", "", "several jobs together"),
])
def test_a_job_that_a_limit_lets_start_starts(limited, limit, flags, why):
    def set_limit(*words):
        limited.run(["sacctmgr", "-i", "modify", "qos", "normal", "set", *words], user="root")

    def in_force():  # slurmdbd tells slurmctld by itself, a moment later
        return resource in limited.run(["scontrol", "show", "assoc_mgr", "flags=qos"], user="root").stdout
    key, resource = limit.split("=", 1)
    set_limit(limit, f"flags={flags or -1}")
    assert wait_until(in_force, 10)
    try:
        stock = outcomes(limited, {"RAILHEAD": "off"})
        ours = outcomes(limited, {})
    finally:
        set_limit(f"{key}={resource.rpartition('=')[0]}=-1", "flags=-1")

    worse = {form: (stock[form], ours[form]) for form in FORMS if stock[form] == "starts" and ours[form] != "starts"}
    assert not worse, f"{limit}: {why}"
    assert "starts" in stock.values() and set(stock.values()) != {"starts"}, stock  # else the limit did nothing
