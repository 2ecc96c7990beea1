"""The results of the placement bench as a table of 80 columns, and the aims.

    /usr/bin/python3 tests/bench/placement/summary.py results.jsonl

minimal  multi-node jobs at minimal span      wide     leaves beyond it, mean of multi-node jobs
wait     mean of all jobs; then its 95th percentile, and the means of jobs of 2 nodes up to a leaf (small), of one node
         (single), of a leaf and more (large), and of all jobs weighted by their nodes (/node)
done in  from submission to the end, mean of all jobs; by nodes: weighted by their nodes
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import aims
from bench import read_results
from figures import FIGURES, Table, over_seeds

NAME_WIDTH = 9
COLUMNS = {  # figure -> (width, with its interval)
    "minimal": (9, True), "excess": (5, False), "wait": (11, True), "wait_p95": (6, False), "wait_small": (9, True),
    "wait_single": (8, True), "wait_large": (6, False), "wait_nodes": (6, False), "completion": (11, True),
}


def label(policy):
    """The first column; a name that is too long for it has a line of its own."""
    return f"{policy:{NAME_WIDTH}}" if len(policy) <= NAME_WIDTH else f"{policy}\n{'':{NAME_WIDTH}}"


def cell(value, figure, interval):
    """"99.2±0.4", as wide as the column."""
    decimals = FIGURES[figure][2]
    if math.isnan(value.mean):
        return "-"
    shown = f"{value.mean:.{decimals}f}"
    return f"{shown}±{value.half:.{decimals}f}" if interval and not math.isnan(value.half) else shown


def row(table, policy, **wanted):
    cells = (f"{cell(table.of(policy, figure, **wanted), figure, interval):>{width}}"
             for figure, (width, interval) in COLUMNS.items())
    return label(policy) + "".join(cells)


def print_block(table, title, **wanted):
    present = [policy for policy in table.policies() if table.points(policy, **wanted)]
    if not present:
        return
    runs = len(table.points(present[0], **wanted))
    print(f"{title}, {runs} run{'s' if runs > 1 else ''} a policy")
    for policy in present:
        print(row(table, policy, **wanted))
    print()


def print_tables(table, by_load):
    for index in (0, 1):
        print(f"{'':{NAME_WIDTH}}" + "".join(f"{FIGURES[figure][index]:>{width}}" for figure, (width, _) in COLUMNS.items()))
    for mix, slowdown in itertools.product(table.distinct(0), table.distinct(1)):
        print_block(table, f"{mix} mix, a wider span costs {100 * slowdown:.0f} %, all loads", mix=mix, slowdown=slowdown)
        for load in table.distinct(2) if by_load else []:
            title = f"{mix} mix, {100 * slowdown:.0f} %, load {100 * load:.0f} %"
            print_block(table, title, mix=mix, slowdown=slowdown, load=load)


DIFFERENCES = {  # figure -> (width, decimals, with its interval)
    "wait": (11, 2, True), "wait_small": (9, 1, True), "wait_single": (9, 1, True), "wait_large": (6, 1, False),
    "wait_nodes": (6, 1, False), "completion": (11, 2, True), "completion_nodes": (11, 2, True),
}


def difference_row(table, policy, **wanted):
    def cell_of(figure, width, decimals, interval):
        value = table.difference(policy, "stock", figure, **wanted)
        half = f"±{value.half:.{decimals}f}" if interval and not math.isnan(value.half) else ""
        return f"{value.mean:+.{decimals}f}{half}".rjust(width)
    points = table.shared([policy, "stock"], **wanted)
    minimal = over_seeds(points, table.values(policy, "minimal", points)).mean
    return f"{label(policy)}{minimal:8.1f}" + "".join(cell_of(figure, *form) for figure, form in DIFFERENCES.items())


def print_differences(table):
    """Each policy less stock, over the runs that both have: what differs between seeds and loads cancels out."""
    print(f"Less stock, run by run; seconds\n{'':{NAME_WIDTH}}{'minimal':>8}"
          + "".join(f"{FIGURES[figure][0]:>{width}}" for figure, (width, _, _) in DIFFERENCES.items()))
    for mix, slowdown in itertools.product(table.distinct(0), table.distinct(1)):
        wanted = {"mix": mix, "slowdown": slowdown}
        rows = [difference_row(table, policy, **wanted) for policy in table.policies()
                if policy != "stock" and table.shared([policy, "stock"], **wanted)]
        if rows:
            print(f"{mix} mix, a wider span costs {100 * slowdown:.0f} %", *rows, sep="\n")
    print()


def print_aims(table, policy):
    for mix in table.distinct(0):
        verdicts = aims.verdicts(table, policy, mix)
        if verdicts:
            print(f"Aims of {policy}, {mix} mix, all loads:")
        for verdict in verdicts:
            print(f"  {verdict.word:12} {verdict.aim:23} at {100 * verdict.slowdown:3.0f} %: {verdict.says}")
    wrong = aims.refusals_differ(table)
    print(f"  {'FAIL' if wrong else 'pass':12} refusals are stock's{'' if not wrong else f': not at {wrong}'}")


def main():
    parser = argparse.ArgumentParser(prog="summary.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--by-load", action="store_true", help="also a table for each load")
    parser.add_argument("--policy", default="railhead", help="whose aims")
    arguments = parser.parse_args()
    results = read_results(arguments.results)
    if not results:
        sys.exit(f"summary: no results in {arguments.results}")
    table = Table(results)
    print_tables(table, arguments.by_load)
    if len(table.runs) > 1 and table.runs["stock"]:
        print_differences(table)
        print_aims(table, arguments.policy)


if __name__ == "__main__":
    main()
