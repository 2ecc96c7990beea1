"""railhead diagnose JOB: Slurm is asked, and what the job wrote is read with the rights of its user."""

import json
import os

import pytest

from conftest import BUILD
from keeper import wait_until
from rig import Rig, RigError

RAILHEAD = BUILD / "cli" / "railhead"
FAILS = """#!/bin/sh
#SBATCH --no-requeue
cat <<'END'
Traceback (most recent call last):
  File "/home/alice/train.py", line 88, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
END
exit 1
"""


@pytest.fixture(scope="module")
def plain():
    with Rig(4, leaves=2, gpus=2) as rig:
        yield rig


@pytest.fixture(scope="module")
def accounted():
    try:
        rig = Rig(2, enforce="associations", extra="MinJobAge=2").start()
    except RigError as error:
        if "_check_mysql_concat_is_sane: null" not in str(error):
            raise
        pytest.skip("this slurmdbd does not start on this MariaDB: it does not get the answer to its first question")
    yield rig
    rig.stop()


def run(rig, script, *options):
    job = rig.sbatch(script, *options)
    rig.wait_job(job)
    return job


def diagnose(rig, *words, user="root"):
    return rig.run([RAILHEAD, "diagnose", *map(str, words)], user=user, check=False)


@pytest.mark.parametrize("user", ["root", None])
def test_a_job_is_read_by_its_number(plain, user):
    job = run(plain, FAILS)
    result = diagnose(plain, job.id, "--json", user=user)

    assert result.returncode == 1, result.stderr
    answer = json.loads(result.stdout)
    assert answer["verdict"] == "cause found"
    first = answer["findings"][0]
    assert first["id"] == "gpu-out-of-memory"
    assert first["evidence"][0]["file"].endswith(f"/slurm-{job.id}.out")
    assert first["evidence"][0]["line"] == 4
    kinds = {file["kind"]: file["used"] for file in answer["files"]}
    assert kinds["scontrol show job"] and kinds["scontrol show node"] and kinds["topology.conf"]
    assert "accounting does not answer" in result.stderr


def test_two_jobs_and_a_file_are_read_together(plain, tmp_path):
    one, other = run(plain, FAILS), run(plain, "#!/bin/sh\n#SBATCH --no-requeue\ntrue\n")
    notes = tmp_path / "notes.txt"
    notes.write_text("buy milk\n")
    files = [file["file"] for file in json.loads(diagnose(plain, one.id, other.id, notes, "--json").stdout)["files"]]

    for job in (one, other):
        assert f"scontrol show job ({job.id})" in files
        assert any(name.endswith(f"/slurm-{job.id}.out") for name in files)
    assert str(notes) in files


def test_a_job_that_nobody_knows_is_an_error(plain):
    result = diagnose(plain, 999999)

    assert result.returncode == 2
    assert result.stdout == ""
    assert "job 999999" in result.stderr and "Invalid job id" in result.stderr


def test_a_file_of_that_name_is_the_file(plain, tmp_path):
    (tmp_path / "12").write_text("buy milk\n")
    result = plain.run([RAILHEAD, "diagnose", "12"], user="root", cwd=tmp_path, check=False)

    assert "12: of no kind that is known" in result.stdout


def test_root_follows_no_link_that_the_user_could_not_follow(plain):
    job = run(plain, FAILS)
    output = job.script.parent / f"slurm-{job.id}.out"
    secret = plain.work / "secret"
    secret.write_text(output.read_text())
    os.chown(secret, 0, 0)
    secret.chmod(0o600)
    output.unlink()
    output.symlink_to(secret)

    result = diagnose(plain, job.id, "--json")
    assert "gpu-out-of-memory" not in {one["id"] for one in json.loads(result.stdout)["findings"]}
    assert "Permission denied" in result.stderr


def test_an_output_that_is_no_file_stops_nothing(plain):
    job = run(plain, FAILS)
    output = job.script.parent / f"slurm-{job.id}.out"
    output.unlink()
    os.mkfifo(output)

    assert "is no regular file" in diagnose(plain, job.id).stderr
    output.unlink()
    assert "No such file" in diagnose(plain, job.id).stderr


def test_leaves_and_options_of_the_job_are_seen(plain):
    nodes = plain.names
    job = run(plain, "#!/bin/sh\n#SBATCH --no-requeue\ntrue\n", "-N2", f"--nodelist={nodes[0]},{nodes[3]}", "--ntasks=4",
              "--gpus-per-task=1")
    found = {one["id"]: one for one in json.loads(diagnose(plain, job.id, "--json").stdout)["findings"]}

    assert "touch 2 leaves; 1 can hold as many of its partition" in found["too-many-leaves"]["what"]
    assert "--gpus-per-task" in found["isolating-options"]["what"]


def test_a_post_mortem_takes_the_output_as_evidence(plain):
    job = run(plain, FAILS)
    output = job.script.parent / f"slurm-{job.id}.out"
    text = plain.run([RAILHEAD, "postmortem", job.id, "--evidence", output], user="root").stdout

    assert "ran out of GPU memory" in text
    assert f"slurm-{job.id}.out:4" in text
    assert "Not determined" not in text


def test_accounting_tells_of_a_job_that_slurmctld_has_forgotten(accounted):
    job = run(accounted, FAILS)

    def forgotten():
        return accounted.run(["scontrol", "show", "job", str(job.id)], user="root", check=False).returncode != 0
    assert wait_until(forgotten, 120, 1)  # slurmctld looks once a minute
    result = diagnose(accounted, job.id, "--json")

    answer = json.loads(result.stdout)
    assert answer["findings"][0]["id"] == "gpu-out-of-memory", result.stderr
    assert "sacct --parsable2" in {file["kind"] for file in answer["files"]}
    assert diagnose(accounted, 999999).returncode == 2
