"""The placement bench of tests/bench/placement: its own arithmetic, and that it runs."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
BENCH = CHECKOUT / "tests" / "bench" / "placement"
BUILD = Path(os.environ.get("RAILHEAD_BUILD", CHECKOUT / "build" / "dev"))
sys.path.insert(0, str(BENCH))

import aims  # noqa: E402
import figures  # noqa: E402
import mix  # noqa: E402
import simulate  # noqa: E402
import svg  # noqa: E402
from play import is_fill  # noqa: E402
from fabric import Fabric, hostlist, parse_hostlist  # noqa: E402
from policies import find_policy, options  # noqa: E402
from rig import slurm_version  # noqa: E402


@pytest.mark.parametrize("count, usable, needed, least, why", [
    (1, range(16), (), 1, "one node"),
    (4, range(16), (), 1, "a whole leaf"),
    (5, range(16), (), 2, "one more than a leaf"),
    (3, [0, 1, 4, 5, 6], (), 1, "the larger rest of a leaf"),
    (5, [0, 1, 4, 5, 8, 9], (), 3, "leaves that others have parts of"),
    (4, range(16), (0, 4), 2, "named nodes on two leaves"),
    (4, [0, 4, 5, 6, 7], (0,), 2, "the leaf of a named node is too small"),
])
def test_the_minimal_span_is_the_least_that_an_idle_cluster_allows(count, usable, needed, least, why):
    assert Fabric(4, 4).minimal_span(count, frozenset(usable), frozenset(needed)) == least, why


def test_node_sets_survive_the_way_through_text():
    fabric = Fabric()
    for nodes in ({0}, {0, 1, 2}, {255}, {3, 5, 6, 200}):
        assert parse_hostlist(hostlist(fabric, nodes)) == nodes
    assert parse_hostlist("n007") == {6}
    with pytest.raises(ValueError, match="not a list"):
        parse_hostlist("other[1-2]")


def test_the_same_seed_gives_the_same_jobs_and_another_gives_others():
    site = mix.default_site()

    assert mix.synthetic(site, 1, 1.1, 30) == mix.synthetic(site, 1, 1.1, 30)
    assert mix.synthetic(site, 1, 1.1, 30) != mix.synthetic(site, 2, 1.1, 30)


@pytest.mark.parametrize("load", [0.9, 1.25])
def test_a_mix_brings_the_load_that_it_is_asked_for(load):
    site = mix.default_site()

    jobs = [job for seed in range(10) for job in mix.synthetic(site, seed, load, 60) if job.measured]

    assert sum(job.nodes * job.run_s for job in jobs) / (10 * 60 * site.fabric.nodes) == pytest.approx(load, rel=0.1)


def test_a_third_of_the_jobs_may_not_use_the_whole_cluster():
    site = mix.default_site()
    jobs = [job for seed in range(10) for job in mix.synthetic(site, seed, 1, 60) if job.measured]

    assert sum(job.kind != "plain" for job in jobs) / len(jobs) == pytest.approx(0.33, abs=0.04)
    assert {job.kind for job in jobs} == set(site.kinds)


def test_the_mix_of_the_trace_is_made_of_its_jobs():
    folder = mix.traces_folder(CHECKOUT)
    if folder is None:
        pytest.skip("no shared/traces beside the checkout")

    jobs = [job for job in mix.philly(mix.default_site(), 1, 1.1, 30, folder) if job.measured]

    assert jobs[0].arrival_s == 0 and not is_fill(jobs[0]), "the first one is measured too"
    assert {job.nodes for job in jobs} <= {1, 2, 4, 7, 8, 12, 16, 20, 24, 32, 48}
    assert all(mix.LEAST_S <= job.run_s <= mix.MOST_S for job in jobs)


@pytest.mark.parametrize("policy, added", [
    ("stock", []),
    ("switches", ["--switches=1@16666:40"]),
    ("railhead", []),
    ("try:wait_s=5,price=1", ["--switches=1@0:08"]),  # 10 % of 2 minutes of Slurm, which are 30 s of the bench
    ("try:set_aside=4,below=8", ["--prefer=small"]),
    ("try:alternatives=4,wait_s=5", ["-C", "[" + "|".join(f"leaf{leaf}" for leaf in range(1, 17)) + "]"]),
])
def test_a_policy_adds_its_options_to_a_job(policy, added):
    policy = find_policy(policy)
    job = mix.Job(0, 1, nodes=4, run_s=20, limit_min=2)

    assert options(mix.default_site(policy.set_aside), policy, job, 0.1) == ["--gres=gpu:8", "--exclusive", "-t2", "-N4", *added]


@pytest.mark.parametrize("free, count, needed, leaves, why", [
    ([3, 2, 4, 4], 2, 0, [1], "the fullest leaf that holds the job"),
    ([3, 2, 4, 4], 3, 0, [0], "not the emptiest"),
    ([3, 2, 4, 1], 5, 0, [2, 3], "the emptiest first, then the fullest that holds the rest"),
    ([3, 2, 4, 4], 2, 1 << 8, [2], "the leaf of a node asked for by name"),
])
def test_the_simulator_places_as_topology_tree_does(free, count, needed, leaves, why):
    fabric = Fabric(4, 4)
    nodes = sum(((1 << free[leaf]) - 1) << 4 * leaf for leaf in range(4))

    taken = simulate.Leaves(fabric).choose(nodes, count, needed)

    assert taken.bit_count() == count and taken & ~nodes == 0
    assert [leaf for leaf in range(4) if taken >> 4 * leaf & 15] == leaves, why


@pytest.mark.parametrize("policy, spans, start_s, why", [
    ("stock", 2, 2.5, "starts where there is room"),
    ("try:wait_s=4", 2, 5.5, "waits its time, counted from the submission"),
    ("switches", 1, 11.5, "waits until a leaf is free"),
])
def test_a_simulated_job_waits_for_its_leaf_as_the_policy_says(policy, spans, start_s, why):
    policy, site = find_policy(policy), mix.Site(Fabric(4, 4))
    half = [mix.Job(index, 0, nodes, 11, 9, "plain", frozenset(named)) for index, (nodes, named) in enumerate(
        [(2, {0, 1}), (2, {4, 5}), (2, {8, 9}), (1, {12})])]  # every leaf is taken in part for 11 s
    job = mix.Job(9, 1.2, nodes=4, run_s=10, limit_min=2)

    fates = simulate.Simulation(site, policy, 0.1).play([*half, job])

    last = next(fate for fate in fates if fate.job is job)
    assert (last.span, last.start_s) == (spans, pytest.approx(start_s, abs=1)), why


def test_simulated_jobs_never_share_a_node():
    policy, site = find_policy("stock"), mix.default_site()

    fates = simulate.Simulation(site, policy, 0.1).play(mix.synthetic(site, 3, 1.25, 20))

    ran = [fate for fate in fates if fate.start_s is not None]
    for time in range(0, 30, 3):
        assert sum(fate.job.nodes for fate in ran if fate.start_s <= time < fate.end_s) <= site.fabric.nodes
    assert all(fate.span >= fate.minimal for fate in ran)


@pytest.mark.parametrize("name", ["stok", "try:weight=1", "stock,switches"])
def test_a_policy_that_does_not_exist_is_named(name):
    with pytest.raises(ValueError, match=f"no policy '{name}'"):
        find_policy(name)


def results(**waits):
    """One run a policy and seed; the jobs of each wait as given, and run 10 s on one leaf."""
    return [{"mix": "synthetic", "policy": policy, "slowdown": 0.1, "load": 1.1, "seed": seed, "window_s": 75,
             "jobs": [[0, 4, "plain", 10, wait + seed, 10 + wait + seed, 1, 1], [1, 1, "plain", 10, 1, 11, 1, 1]]}
            for policy, wait in waits.items() for seed in (1, 2, 3)]


@pytest.mark.parametrize("railhead, word", [(4, "pass"), (7, "FAIL")])
def test_the_extra_wait_is_held_against_three_quarters_of_that_of_switches(railhead, word):
    table = figures.Table(results(stock=2, switches=8, railhead=railhead))

    verdicts = {verdict.aim: verdict.word for verdict in aims.verdicts(table, "railhead", "synthetic")}

    assert verdicts["3/4 of the extra wait"] == word and verdicts["99 % at minimal span"] == "pass"


def test_an_aim_that_the_spread_of_the_runs_leaves_open_says_so():
    spread = results(stock=2, switches=8, railhead=2)
    for result in spread:
        if result["policy"] == "railhead":
            result["jobs"][0][4] += 4 * result["seed"]

    verdicts = {verdict.aim: verdict.word for verdict in
                aims.verdicts(figures.Table(spread), "railhead", "synthetic")}

    assert verdicts["3/4 of the extra wait"].endswith("unsure")


def test_the_loads_of_a_seed_count_as_one_value():
    points = [("synthetic", 0.1, load, seed) for seed in (1, 2, 3) for load in (0.9, 1.1)]

    assert figures.over_seeds(points, [1, 3, 2, 4, 3, 5]) == figures.estimate([2, 3, 4])


def test_a_policy_that_refuses_other_jobs_than_stock_is_found():
    both = results(stock=2, switches=8, railhead=2)
    both[-1]["jobs"][1] = [1, 1, "plain", "sbatch: error: no"]

    assert aims.refusals_differ(figures.Table(both)) == [(("synthetic", 0.1, 1.1, 3), "railhead")]


def test_a_chart_is_well_formed_and_has_every_point():
    chart = svg.Chart("Wait < 5 & more", "load, %", "seconds", [
        svg.Series("stock", [(90, 1.0, 0.2), (110, 2.0, float("nan"))]),
        svg.Series("railhead", [(90, 0.5, 0.1), (110, 1.5, 0.2)])])

    root = xml.etree.ElementTree.fromstring(svg.draw(chart))

    points = [mark for mark in root.iter("{http://www.w3.org/2000/svg}circle") if len(mark)]
    assert len(points) == 4 and "nan" not in svg.draw(chart)


@pytest.mark.parametrize("low, high, wanted", [
    (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
    (58, 100, [50, 60, 70, 80, 90, 100]),
    (3, 3, [3, 3.2, 3.4, 3.6, 3.8, 4]),
])
def test_axes_have_round_numbers(low, high, wanted):
    assert svg.ticks(low, high) == wanted


@pytest.mark.skipif(slurm_version() >= (22, 11), reason="the bench was written for, and run on, Slurm 22.05")
def test_the_bench_runs_and_goes_on_where_it_ended(tmp_path):
    out = tmp_path / "results.jsonl"
    command = [sys.executable, BENCH / "bench.py", "--quick", "--build", BUILD, "--out", out]

    subprocess.run(command, check=True, timeout=300)
    again = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)

    found = {result["policy"]: result for result in map(json.loads, out.read_text().splitlines())}
    assert set(found) == {"stock", "switches", "railhead"}
    assert "3 of them done before" in again.stderr
    shown = figures.run_figures(found["switches"])
    assert shown["minimal"] == 100, "--switches without an end to the wait"
    assert all(figures.run_figures(result)["minimal"] > 0 for result in found.values())
    assert not aims.refusals_differ(figures.Table(list(found.values())))
    summary = subprocess.run([sys.executable, BENCH / "summary.py", out], check=True, capture_output=True, text=True).stdout
    assert max(map(len, summary.splitlines())) <= 80
