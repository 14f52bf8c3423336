#!/usr/bin/env python3
"""How much faster jitscope is on all cores than on one, and what the machine could give.

    bench/cores.py [--size smoke|small|medium] [--rounds N] [--directory DIR]

The recording is that of bench/naming.py. Each verb runs with -j 1 and without -j in turns. Beside them two
runs with -j 1 at the same time: two cores seldom do twice the work of one (they share memory and caches, and
in a virtual machine perhaps the very core), and no program can be faster than two that have nothing to do
with each other. Times are medians; the exit status says whether the outputs were the same, not how fast
they came.

Environment: JITSCOPE.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import naming
from naming import JITSCOPE, SIZES, environment, fail

Cost = collections.namedtuple("Cost", "wall cpu mib")


def run_at_once(commands):
    """The wall time of all, and of each what it cost."""
    start = time.monotonic()
    running = [subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    costs = []
    for process in running:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            fail(f"{process.args}: status {process.returncode}")
        costs.append(Cost(0, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return time.monotonic() - start, costs


def digest(command):
    done = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sum_of = hashlib.sha256()
    while piece := done.stdout.read(1 << 20):
        sum_of.update(piece)
    return done.wait(), sum_of.hexdigest()


def middle(costs):
    return Cost(statistics.median(each.wall for each in costs), statistics.median(each.cpu for each in costs),
                max(each.mib for each in costs))


def compare(what, verb, rounds):
    """`verb`: `{}` in a word is a number of the run's own, for runs at the same time."""
    def command(number):
        return [JITSCOPE, *(str(word).replace("{}", str(number)) for word in verb)]
    one, all_cores, two_at_once = [], [], []
    for _ in range(rounds):
        wall, (cost,) = run_at_once([[*command(1), "-j1"]])
        one.append(cost._replace(wall=wall))
        wall, (cost,) = run_at_once([command(1)])
        all_cores.append(cost._replace(wall=wall))
        wall, _ = run_at_once([[*command(1), "-j1"], [*command(2), "-j1"]])
        two_at_once.append(wall / 2)
    alone, shared = middle(one), middle(all_cores)
    possible = alone.wall / statistics.median(two_at_once)
    print(f"{what:24}{alone.wall:8.3f} s{shared.wall:8.3f} s{alone.wall / shared.wall:8.2f}x{possible:9.2f}x"
          f"{100 * shared.cpu / alone.cpu - 100:+8.0f} %{100 * shared.mib / alone.mib - 100:+8.0f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", type=pathlib.Path, help="kept; else a temporary one")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cores-", dir="/var/tmp") as temporary:
        directory = (words.directory or pathlib.Path(temporary) / "input").resolve()
        directory.mkdir(parents=True, exist_ok=True)
        environment["HOME"] = temporary
        data, maps = naming.record(SIZES[words.size], directory)
        out = pathlib.Path(temporary)
        verbs = {
            "script": ["script", "-i", data],
            "report, flat": ["report", "--no-children", "-i", data],
            "report, with callers": ["report", "-i", data],
            "report, with trees": ["report", "-g", "-i", data],
            "folded": ["flame", "-o", "-.folded", "-i", data],
            "flame graph page": ["flame", "-f", "-o", out / "{}.html", "-i", data],
            "inject": ["inject", "--overwrite", "-o", out / "{}.data", "-i", data],
        }
        try:
            for what in ("script", "report, flat", "report, with callers", "folded"):
                command = [JITSCOPE, *verbs[what]]
                if digest([*command, "-j1"]) != digest([*command, "-j3"]):
                    fail(f"{what}: the output with -j 3 is another than with -j 1")
            print(f"{os.cpu_count()} cores\n{'':24}{'-j 1':>10}{'all':>10}{'faster':>9}{'possible':>10}{'CPU':>10}"
                  f"{'memory':>10}")
            for what, verb in verbs.items():
                compare(what, verb, words.rounds)
        finally:
            for path in maps:
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
