"""Draws the figures of the placement bench as SVG files.

    /usr/bin/python3 tests/bench/placement/plots.py results.jsonl docs/placement
"""

import argparse
import itertools
from pathlib import Path

from bench import read_results
from figures import Table
from svg import Chart, Series, draw

PLOTS = {  # figure -> (title, y label, less stock's)
    "minimal": ("Multi-node jobs at minimal span", "share, %", False),
    "wait": ("Mean wait of a job, less stock's", "seconds", True),
    "completion": ("Submission to end, less stock's", "seconds", True),
    "completion_nodes": ("Submission to end by nodes, less stock's", "seconds", True),
}
POLICIES = ["stock", "switches", "railhead", "railhead-set-aside", "railhead-small"]


def series(table, policy, figure, xs, wanted):
    """The figure of a policy at each x; `wanted` makes of an x what the runs must have."""
    def value(x):
        less = PLOTS[figure][2]
        return table.difference(policy, "stock", figure, **wanted(x)) if less else table.of(policy, figure, **wanted(x))
    values = [(100 * x, value(x)) for x in xs if table.shared([policy, "stock"], **wanted(x))]
    return Series("--switches" if policy == "switches" else policy, [(x, found.mean, found.half) for x, found in values])


def charts(table, mix, slowdown):
    """(file name, chart) of every plot of one mix: over the slowdown, and over the load at one slowdown."""
    over = [("", f"({mix})", "cost of a wider span, %", table.distinct(1), lambda x: {"mix": mix, "slowdown": x}),
            ("-load", f"({mix}, {100 * slowdown:g} %)", "load, %", table.distinct(2),
             lambda x: {"mix": mix, "slowdown": slowdown, "load": x})]
    for (figure, (title, unit, less)), (suffix, which, label, xs, wanted) in itertools.product(PLOTS.items(), over):
        lines = [series(table, policy, figure, xs, wanted) for policy in POLICIES[less:]]
        lines = [line for line in lines if len(line.points) > 2]
        yield f"{mix}-{figure}{suffix}.svg", Chart(f"{title} {which}", label, unit, lines, 0 if less else None)


def main():
    parser = argparse.ArgumentParser(prog="plots.py", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--slowdown", type=float, default=0.1, help="of the plots over load")
    arguments = parser.parse_args()
    table = Table(read_results(arguments.results))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for mix in table.distinct(0):
        for name, chart in charts(table, mix, arguments.slowdown):
            if chart.series:
                (arguments.folder / name).write_text(draw(chart))


if __name__ == "__main__":
    main()
