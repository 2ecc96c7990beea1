"""Draws the figures of the placement bench as SVG files.

    /usr/bin/python3 tests/bench/placement/plots.py results.jsonl docs/placement
"""

import argparse
from pathlib import Path

from bench import read_results
from figures import Table
from svg import Chart, Series, draw

PLOTS = {  # figure -> (title, y label, where y begins)
    "minimal": ("Multi-node jobs at minimal span", "share, %", None),
    "wait": ("Mean wait, all jobs", "seconds", 0),
    "wait_large": ("Mean wait, a leaf and more", "seconds", 0),
    "wait_nodes": ("Mean wait, by nodes", "seconds", 0),
    "completion": ("Mean time from submission to end", "seconds", None),
}


def series_by_slowdown(table, policy, figure, mix):
    points = []
    for slowdown in table.distinct(1):
        value = table.of(policy, figure, mix=mix, slowdown=slowdown)
        if value.mean == value.mean:
            points.append((100 * slowdown, value.mean, value.half))
    return Series("--switches" if policy == "switches" else policy, points)


def series_by_load(table, policy, figure, mix, slowdown):
    points = []
    for load in table.distinct(2):
        value = table.of(policy, figure, mix=mix, slowdown=slowdown, load=load)
        if value.mean == value.mean:
            points.append((100 * load, value.mean, value.half))
    return Series("--switches" if policy == "switches" else policy, points)


def charts(table, mix, policies, slowdown):
    """(file name, chart) of every plot of one mix."""
    for figure, (title, unit, floor) in PLOTS.items():
        lines = [series_by_slowdown(table, policy, figure, mix) for policy in policies]
        yield f"{mix}-{figure}.svg", Chart(f"{title} ({mix})", "cost of a wider span, %", unit, lines, floor)
        lines = [series_by_load(table, policy, figure, mix, slowdown) for policy in policies]
        yield f"{mix}-{figure}-load.svg", Chart(f"{title} ({mix}, {100 * slowdown:g} %)", "load, %", unit, lines, floor)


def main():
    parser = argparse.ArgumentParser(prog="plots.py", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--slowdown", type=float, default=0.1, help="of the plots over load")
    arguments = parser.parse_args()
    table = Table(read_results(arguments.results))
    policies = [name for name in ("stock", "switches", "railhead") if table.points(name)]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for mix in table.distinct(0):
        for name, chart in charts(table, mix, policies, arguments.slowdown):
            if all(line.points for line in chart.series):
                (arguments.folder / name).write_text(draw(chart))


if __name__ == "__main__":
    main()
