"""Two slow runs, printed by jobs of a real cluster, and what railhead diagnose makes of their output.

The findings and the MFU after each fix are worked out by hand in unit/diagnose_settings_test.cpp.
"""

import json
import subprocess

import pytest

from conftest import BUILD, CHECKOUT
from rig import Rig

RAILHEAD = BUILD / "cli" / "railhead"
CASES = CHECKOUT / "tests" / "data" / "cases"

# Each of two tasks prints what half of the ranks said, with srun's label and at the same time; then the first
# prints the steps.
SCRIPT = """#!/bin/bash
srun --label sh -c 'cat nccl.$SLURM_PROCID'
srun -N1 -n1 --label cat train.log
"""

KNOWN = {
    "a100-128-no-gdr-rail-lost-bubble-recompute": ("train.sbatch", 22.0, [
        ("gdr-off", 26.9), ("pipeline-bubble", 25.1), ("rail-mismatch", 22.3), ("low-mfu", None),
        ("gradients-not-overlapped", 24.2), ("full-recompute", 23.5)], 17.9),
    "h100-32-tcp-forced-recompute": ("train.toml", 28.0, [
        ("rdma-disabled", 42.1), ("socket-fallback", None), ("low-mfu", None), ("full-recompute", 30.5)], 20.6),
}


@pytest.fixture(scope="module")
def rig():
    with Rig(2, gpus=2, sockets=2, cores=4) as started:
        yield started


@pytest.mark.parametrize("case", KNOWN)
def test_the_output_of_a_slow_job_tells_the_causes_in_order_and_the_mfu_after_each(rig, case):
    configuration, mfu, findings, unexplained = KNOWN[case]
    lines = (CASES / case / "nccl.log").read_text().splitlines(keepends=True)
    for half, part in enumerate((lines[:len(lines) // 2], lines[len(lines) // 2:])):
        (rig.work / f"nccl.{half}").write_text("".join(part))
    (rig.work / "train.log").write_text((CASES / case / "train.log").read_text())

    job = rig.sbatch(SCRIPT, "-N2", "--ntasks-per-node=1", "--time=5")
    assert rig.wait_job(job)["JobState"] == "COMPLETED", job.output()
    output = job.script.parent / f"slurm-{job.id}.out"
    result = subprocess.run([RAILHEAD, "diagnose", output, CASES / case / configuration, "--json"],
                            capture_output=True, text=True, check=False)

    answer = json.loads(result.stdout)
    assert result.returncode == 1, result.stderr
    assert answer["verdict"] == "cause found"
    assert [one["id"] for one in answer["findings"]] == [name for name, _ in findings]
    for one, (name, after) in zip(answer["findings"], findings):
        assert after is None or one["expected"].startswith(f"MFU {after} %: {mfu} / (1 - "), (name, one["expected"])
    bars = [bar["share"] for bar in answer["waterfall"]["bars"]]
    assert abs(sum(bars) + answer["waterfall"]["mfu"] - 1) < 1e-5
    assert answer["waterfall"]["bars"][-1]["what"] == "unexplained"
    assert round(bars[-1] * 100, 1) == unexplained
