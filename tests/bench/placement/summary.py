"""The results of the placement bench as a table of 80 columns, and the aims.

    /usr/bin/python3 tests/bench/placement/summary.py results.jsonl
"""

import argparse
import math
import sys
from pathlib import Path

import aims
from bench import read_results
from figures import FIGURES, Table

COLUMNS = ["minimal", "excess", "wait", "wait_p95", "wait_small", "wait_single", "wait_large", "completion"]


def cell(value, figure):
    """"99.2±0.4", as wide as the column."""
    decimals = FIGURES[figure][2]
    if math.isnan(value.mean):
        return "-"
    return f"{value.mean:.{decimals}f}" + ("" if math.isnan(value.half) else f"±{value.half:.{decimals}f}")


def row(table, policy, **wanted):
    return f"{policy[:14]:14}" + "".join(f"{cell(table.of(policy, figure, **wanted), figure):>{w}}" for figure, w in
                                          zip(COLUMNS, WIDTHS))


WIDTHS = [9, 10, 9, 8, 10, 10, 10, 11]


def print_block(table, title, **wanted):
    present = [policy for policy in table.runs if table.points(policy, **wanted)]
    if not present:
        return
    runs = len(table.points(present[0], **wanted))
    print(f"{title}, {runs} run{'s' if runs > 1 else ''} a policy")
    for policy in present:
        print(row(table, policy, **wanted))
    print()


def print_tables(table, by_load):
    heads = "".join(f"{FIGURES[figure][0]:>{width}}" for figure, width in zip(COLUMNS, WIDTHS))
    units = "".join(f"{FIGURES[figure][1]:>{width}}" for figure, width in zip(COLUMNS, WIDTHS))
    print(f"{'':14}{heads}\n{'':14}{units}")
    for mix in table.distinct(0):
        for slowdown in table.distinct(1):
            print_block(table, f"{mix} mix, a wider span costs {100 * slowdown:.0f} %, all loads", mix=mix, slowdown=slowdown)
            for load in table.distinct(2) if by_load else []:
                print_block(table, f"{mix} mix, {100 * slowdown:.0f} %, load {100 * load:.0f} %", mix=mix, slowdown=slowdown,
                            load=load)


def print_aims(table, policy):
    for mix in table.distinct(0):
        print(f"Aims of {policy}, {mix} mix, all loads:")
        for verdict in aims.verdicts(table, policy, mix):
            print(f"  {verdict.word:13} {verdict.aim:22} {100 * verdict.slowdown:3.0f} %  {verdict.says}")
    wrong = aims.refusals_differ(table)
    print(f"  {'FAIL' if wrong else 'pass':13} refusals are stock's{'' if not wrong else f': not at {wrong}'}")


def main():
    parser = argparse.ArgumentParser(prog="summary.py", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--by-load", action="store_true", help="also a table for each load")
    parser.add_argument("--policy", default="railhead", help="whose aims")
    arguments = parser.parse_args()
    results = read_results(arguments.results)
    if not results:
        sys.exit(f"summary: no results in {arguments.results}")
    table = Table(results)
    print_tables(table, arguments.by_load)
    print_aims(table, arguments.policy)


if __name__ == "__main__":
    main()
