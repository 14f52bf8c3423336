"""Counts of calls of an optimised JavaScript function are exact, and its name has file, line, column."""

import harness
from harness import Run, check, equal
from runtimes import hot_name, start_node, warm

CALLS = 100_000


def test_counts():
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        warm(target, [hot_name()], "turbofan")
        for backend in ("trampoline", "breakpoint"):
            run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", backend, "truth.js:hot")
            started = run.started()
            equal((started["methods"], started["backend"]), (1, backend), f"{backend}: started")
            target.go(f"go {CALLS}")
            run.interrupt()
            summaries = run.result().summaries()
            equal(list(summaries), [hot_name()], f"{backend}: methods")
            summary = summaries[hot_name()]
            equal((summary["calls"], summary["lost"]), (CALLS, 0), f"{backend}: calls, lost")
            tiers = {site["tier"] for site in summary["sites"]}
            check("turbofan" in tiers, f"{backend}: no site on the optimised body, only {tiers}")
            check("bytecode" not in tiers, f"{backend}: a site on bytecode")
            target.go("go 1000")
            target.check_sound()


# Without a flag that turns compaction off, V8 may move code: nothing may be patched.
def test_movable_code_is_not_patched():
    with start_node("--no-turbo-inlining") as target:
        target.go("go 100000")
        run = harness.jitscope("trace", "-p", target.pid, "--count", "--backend", "trampoline",
                               "truth.js:hot", status=(1, 3), limit=20)
        check("perf-basic-prof" in run.error, f"the hint names no flag: {run.error}")
        target.go("go 1000")
        target.check_sound()


harness.main(test_counts, test_movable_code_is_not_patched)
