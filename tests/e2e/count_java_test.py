"""Counts of Java calls are exact: static, virtual, interface and many-argument methods, compiled by C2
and by C1, by trampolines and by breakpoints."""

import harness
from harness import Run, equal
from runtimes import jdks, start_java, warm

CALLS = 100_000
METHODS = [
    "Truth.fixed(int)",
    "Truth.six(int,long,short,byte,char,boolean)",
    "Truth$One.virtual(int)",
    "Truth$OpA.apply(int)",
]


def count(target, backend, tier, what):
    run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", backend, *METHODS)
    started = run.started()
    equal((started["methods"], started["sites"], started["backend"]), (4, 4, backend), f"{what}: started")
    target.go(f"go {CALLS}")
    run.interrupt()
    summaries = run.result().summaries()
    equal(sorted(summaries), sorted(METHODS), f"{what}: methods")
    for name, summary in summaries.items():
        equal((summary["calls"], summary["lost"]), (CALLS, 0), f"{what}: {name}: calls, lost")
        equal([(site["tier"], site["backend"]) for site in summary["sites"]], [(tier, backend)],
              f"{what}: {name}: sites")
    target.check_sound()


def compiled_by(tier, *flags):
    for major, java in jdks().items():
        # Methods as small as these JDK 8 leaves to C1, where it has the choice.
        more = ["-XX:-TieredCompilation"] if major == 8 and tier == "c2" else []
        with start_java(java, "TruthMain", flags=[*flags, *more], dontinline="Truth*::*") as target:
            warm(target, METHODS, tier)
            for backend in ("trampoline", "breakpoint"):
                count(target, backend, tier, f"JDK {major}, {tier}, {backend}")
            target.go("go 100000")


def test_c2():
    compiled_by("c2")


# Callers go through inline caches here, so calls come by the unverified entry too.
def test_c1():
    compiled_by("c1", "-XX:TieredStopAtLevel=1")


harness.main(test_c2, test_c1)
