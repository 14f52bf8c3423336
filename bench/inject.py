#!/usr/bin/env python3
"""Making a recording name its JIT code: the CPU time and the peak memory of `perf inject --jit` and of
`jitscope inject`, on the same input, in turns.

    bench/inject.py [--size smoke|medium] [--rounds N] [--directory DIR]

It makes its own inputs: a process with a jitdump of 100,000 functions (smoke: 2,000), and the recording of a JVM
and of Node that bench/naming.py makes; or takes what an earlier run left in DIR. CPU time is user and system time
as wait4 tells it, children included, the median of the rounds. The ratios that are wanted are printed beside those
that were found; the exit status says only whether the outputs were right: perf has to show the same names in what
both wrote.

Environment: JITSCOPE.
"""

import argparse
import collections
import pathlib
import re
import shutil
import sys
import tempfile

import naming
from naming import JITSCOPE, fail, lines_of, run, skip

HERE = pathlib.Path(__file__).resolve().parent

Size = collections.namedtuple("Size", "loads lines run seconds recording")
SIZES = {
    "smoke": Size(2_000, 20, 100, 1, None),
    "medium": Size(100_000, 20, 2_000, 5, "medium"),
}


def record_functions(size, directory):
    data = directory / "functions.data"
    if not data.exists():
        run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", 4000, "-o", directory / "part.data", "--",
             sys.executable, HERE / "inject_workload.py", size.loads, size.lines, size.run, size.seconds],
            cwd=directory)
        (directory / "part.data").rename(data)
    dump = next(directory.glob("jit-*.dump"))
    print(f"input: {data}, a jitdump of {size.loads:,} loads, {dump.stat().st_size / 1e6:.0f} MB")
    return data


def names_in(data):
    """How often perf shows each function of the workload."""
    names = collections.Counter()
    for line in lines_of(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", data]):
        found = re.search(rb"handle\d+", line)
        if found:
            names[found[0]] += 1
    return names


def files_of(directory):
    return len(list(directory.glob("jitted-*.so")))


def perf_inject(data, output):
    return ["perf", "inject", "--jit", "-i", data, "-o", output]


def ours(data, output, *options):
    return [JITSCOPE, "inject", "-i", data, "-o", output, "--overwrite", *options]


def clean(directory):
    for path in directory.glob("jitted-*.so"):
        path.unlink()


def compare_functions(table, size, directory):
    data = record_functions(size, directory)
    theirs, mine = directory / "perf-injected.data", directory / "injected.data"
    what = f"{size.loads:,} loads"
    table.compare(f"{what}, all in the image", [perf_inject(data, theirs)], [ours(data, mine, "--all")], 40,
                  memory=0.25)
    all_names = names_in(mine)
    table.compare(f"{what}, what samples need", [perf_inject(data, theirs)], [ours(data, mine)], 40, memory=0.25)
    expected, found = names_in(theirs), names_in(mine)
    print(f"files: perf {files_of(directory)}, jitscope {len(list((directory / 'injected.data.images').iterdir()))}; "
          f"{sum(found.values())} samples in {len(found)} functions")
    clean(directory)
    if not found or not expected == found == all_names:
        fail(f"perf shows {sum(expected.values())} names in its own output, {sum(found.values())} in that of "
             f"jitscope, {sum(all_names.values())} with all code")


def compare_recording(table, size, directory):
    maps = []
    try:
        data, maps = naming.record(naming.SIZES[size.recording], directory)
        table.compare(f"{size.recording} recording", [perf_inject(data, directory / "perf-injected.data")],
                      [ours(data, directory / "injected.data")], 10, memory=0.25)
        clean(directory)
    finally:
        for path in maps:
            path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=pathlib.Path, help="kept; else a temporary one")
    words = parser.parse_args()
    for tool in ("perf", JITSCOPE):
        if not shutil.which(tool):
            skip(f"no {tool}")
    size = SIZES[words.size]
    with tempfile.TemporaryDirectory(prefix="inject-", dir="/var/tmp") as temporary:
        directory = (words.directory or pathlib.Path(temporary) / "input").resolve()
        (directory / "functions").mkdir(parents=True, exist_ok=True)
        (directory / "recording").mkdir(exist_ok=True)
        naming.environment["HOME"] = temporary  # perf keeps copies of what it saw below it
        table = naming.Table(words.rounds)
        compare_functions(table, size, directory / "functions")
        if size.recording:
            compare_recording(table, size, directory / "recording")
            print(f"{table.missed} of what was wanted missed" if table.missed else "all that was wanted was reached")


if __name__ == "__main__":
    main()
