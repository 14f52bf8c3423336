"""Any number of runs on one process takes the address space and the memory of the first few.

JITSCOPE_RUNS: how many traces of the JVM (200); a quarter of that of the C target."""

import os
import pathlib

import harness
from harness import Run, bodies, check, equal, jitscope
from runtimes import PAGE_F0, FixedPage, jdks, start_java, warm

RUNS = int(os.environ.get("JITSCOPE_RUNS", "200"))
FIXED = "Truth.fixed(int)"
SETTLED = 10  # runs until nothing grows any more
# A thread's stack may hold an address in an image for a while: a run that meets it takes another place.
FEW = 3


def image_ranges(target):
    """[(file, bytes)] of the images that are mapped, one for each file."""
    found = {}
    for line in pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and "jitscope-" in fields[5]:
            begin, end = (int(word, 16) for word in fields[0].split("-"))
            key = (fields[3], fields[4])
            found[key] = found.get(key, 0) + end - begin
    return sorted(found.values())


def copied(target):
    """Kilobytes that the images keep in memory: copies of pages that carried a probe."""
    kilobytes, inside = 0, False
    for line in pathlib.Path(f"/proc/{target.pid}/smaps").read_text().splitlines():
        if "-" in line.split(None, 1)[0]:
            inside = "jitscope-" in line
        elif inside and line.startswith("Private_Dirty:"):
            kilobytes += int(line.split()[1])
    return kilobytes


def files(target):
    return [name for name in os.listdir("/tmp") if name.startswith(f"jitscope-{target.pid}-")]


def trace(target, name, pattern):
    run = jitscope("trace", "-p", target.pid, "--count", "--json", "--duration", "0.001", "--backend", "trampoline",
                   pattern)
    equal(sum(1 for each in run.summaries()[name]["sites"] if each["since_ns"]), 1, f"placed: {run.story()}")


def few(target, after):
    ranges = image_ranges(target)
    check(0 < len(ranges) <= FEW and max(ranges) < 1 << 20, f"images after {after}, their bytes: {ranges}")


def flat(target, name, pattern, runs):
    before = target.memory(entry_of(target, pattern), 16)
    for _ in range(min(SETTLED, runs)):
        trace(target, name, pattern)
    few(target, "the first runs")
    copies = copied(target)
    for _ in range(runs - SETTLED):
        trace(target, name, pattern)
    few(target, f"{runs} runs")
    check(copied(target) <= copies + 64 * FEW, f"kB of copies: {copies}, then {copied(target)}")
    equal(files(target), [], "files")
    equal(target.memory(entry_of(target, pattern), 16), before, "the entry")
    target.check_sound()


def entry_of(target, pattern):
    return next(int(body["entry"], 0) for body in bodies(target, pattern) if body["state"] in ("in_use", "unknown"))


def test_traces_of_a_jvm():
    java = max(jdks().items())[1]
    with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
        warm(target, [FIXED], "c2")
        flat(target, FIXED, FIXED, RUNS)
        target.go("go 1000")


def test_traces_of_a_small_target_that_runs():
    with FixedPage() as target:
        target.write_map()
        # It is in the slots all the time.
        target.send("go 2000000000")
        flat(target, PAGE_F0, "page_f0", RUNS // 4)


def test_a_killed_run_is_undone_and_its_place_used():
    with FixedPage() as target:
        target.write_map()
        for _ in range(3):
            run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", "page_f0")
            run.started()
            run.kill()
            target.go("go 100")
            jitscope("expose", "--undo", "-p", target.pid)
        trace(target, PAGE_F0, "page_f0")
        equal(len(image_ranges(target)), 1, "images")
        equal(files(target), [], "files")
        target.go("go 100")
        target.check_sound()


harness.main(test_traces_of_a_jvm, test_traces_of_a_small_target_that_runs,
             test_a_killed_run_is_undone_and_its_place_used)
