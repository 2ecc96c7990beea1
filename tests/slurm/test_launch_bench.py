"""The launch bench of tests/bench/launch: its arithmetic, and that nobody waits for us grossly longer than it says.

The bounds hold in a debug build on a busy machine, so they are far above the figures in tests/bench/README.md.
"""

import argparse
import importlib.util
import shutil
import statistics

import pytest

from conftest import BUILD, CHECKOUT

SPEC = importlib.util.spec_from_file_location("launch_bench", CHECKOUT / "tests" / "bench" / "launch" / "bench.py")
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)


class Files:
    """What read_clocks() wants of a rig."""

    def __init__(self, folder):
        self.run_dir = folder


def test_what_passes_between_the_clocks_is_told_for_the_step_and_its_tasks(tmp_path):
    (tmp_path / "clock_before").write_text(
        "init 7 1000000 500\nuser_init 7 2000000 600\ntask_init 8 9 1000\ntask_init 9 9 1000\ntask_init 10 9 1000\n")
    (tmp_path / "clock_behind").write_text(
        "init 7 1040000 500\nuser_init 7 2002000 600\ntask_init 9 9 71000\ntask_init 10 9 91000\ntask_init 8 9 2000\n")
    assert bench.read_clocks(Files(tmp_path)) == (42, 70)
    assert not (tmp_path / "clock_behind").read_text()


def test_differences_are_taken_round_by_round():
    rounds = {"none": [(100, 5, 1), (300, 5, 1)], "warm": [(101, 25, 41), (302, 35, 31)]}
    result = {"rounds": {1: rounds}}
    assert bench.added(result, 1, "warm", 0) == [1, 2]
    assert bench.added(result, 1, "warm", 2) == [40, 30]


def test_the_interval_of_a_median_holds_it_and_narrows():
    values = [float(value) for value in range(101)]
    middle, low, high = bench.middle(values)
    assert low < middle == 50 < high
    assert bench.middle([3.0] * 20) == (3, 3, 3)


def test_nobody_waits_grossly_long_for_us(plugins):
    if not shutil.which("cc"):
        pytest.skip("no cc for the clock of the bench")
    result = bench.measure(argparse.Namespace(build=BUILD, rounds=3))
    for tasks in bench.TASKS:
        step, task = (statistics.median(bench.added(result, tasks, "warm", what)) for what in (1, 2))
        assert step < 30_000, f"a step of {tasks} tasks waits {step:.0f} us"
        assert task < 3_000, f"each of {tasks} tasks waits {task:.0f} us"
