"""Targets in their own pid and mount namespace, with a /tmp of their own, seen from outside."""

import harness
from harness import Run, bodies, equal, wait_for
from isolated import Isolated
from runtimes import java_command, jdks, node, warm


def count(target, name, pattern):
    run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", pattern)
    run.started()
    target.go("go 10000")
    run.interrupt()
    summaries = run.result().summaries()
    equal({each: (summary["calls"], summary["lost"]) for each, summary in summaries.items()},
          {name: (10_000, 0)}, f"{target.argv}: counts")
    target.go("go 100")
    target.check_sound()


def test_java():
    for java in jdks().values():
        # The classes must not lie in the /tmp that the target does not see.
        with Isolated(java_command(java, "TruthMain", dontinline="Truth*::*", base="/var/tmp")) as target:
            warm(target, ["Truth.fixed(int)"], "c2")
            count(target, "Truth.fixed(int)", "Truth.fixed")


def test_node():
    script = str(harness.PROGRAMS / "truth.js")
    with Isolated([node(), "--perf-basic-prof", "--no-turbo-inlining", script]) as target:
        target.go("go 100000")
        name = wait_for(lambda: bodies(target, "truth.js:hot"), "the function in the map")[0]["method"]
        warm(target, [name], "turbofan")
        count(target, name, "truth.js:hot")


harness.main(test_java, test_node)
