"""A method that is compiled while it is traced is picked up, body by body; one that is only interpreted
is waited for, and the coverage says that its calls are not seen."""

import harness
from harness import Run, check, equal, wait_for
from runtimes import in_use, jdks, start_java, warm

WORK = "Late.work(int)"


def patched(target, tiers):
    """A body of these tiers is in use and begins with a jump of ours."""
    for body in in_use(target, WORK).get(WORK, []):
        if body["tier"] in tiers and target.memory(int(body["entry"], 0), 1) == b"\xe9":
            return True
    return False


def test_interpreted_c1_c2():
    for major, java in jdks().items():
        what = f"JDK {major}"
        with start_java(java, "Late", dontinline="Late::work") as target:
            run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", WORK)
            started = run.started()
            equal((started["methods"], started["sites"]), (1, 0), f"{what}: started before compilation")
            made = 0

            def call(count):
                nonlocal made
                target.go(f"go {count}")
                made += count
                return True

            # Few calls at a time, so that C1's body is there for a while before C2 replaces it.
            wait_for(lambda: in_use(target, WORK) or not call(300), f"{what}: C1's body", 60)
            wait_for(lambda: patched(target, ("c1", "c1-limited", "c1-full")),
                     f"{what}: a site on C1's body", 30)
            wait_for(lambda: patched(target, ("c2",)) or not call(5000), f"{what}: a site on C2's body", 60)
            call(100_000)
            run.interrupt()
            summary = run.result().summaries()[WORK]
            check(100_000 <= summary["calls"] <= made, f"{what}: {summary['calls']} of {made} calls")
            equal(summary["lost"], 0, f"{what}: lost")
            tiers = {site["tier"] for site in summary["sites"]}
            check("c2" in tiers and tiers & {"c1", "c1-limited", "c1-full"}, f"{what}: sites on {tiers}")
            target.check_sound()
            target.go("go 1000")


def test_interpreted_only():
    for major, java in jdks().items():
        with start_java(java, "Late") as target:
            run = Run("trace", "-p", target.pid, "--count", "--json", "Late.never")
            equal(run.started()["sites"], 0, f"JDK {major}: sites")
            run.interrupt()
            summary = run.result((0, 1)).summaries()["Late.never(int)"]
            equal((summary["calls"], summary["sites"]), (0, []), f"JDK {major}: calls, sites")
            check("interpret" in str(summary["coverage"]), f"JDK {major}: coverage: {summary['coverage']}")
            target.check_sound()


def test_replaced():
    """A body that was made not entrant counts no more, also where its caller still goes there: the JVM
    jumps away at the entry (before JDK 26), or behind it."""
    names = ["Replaced.caller(int)", "Replaced.work(int)"]
    for major, java in jdks().items():
        for backend in ("trampoline", "breakpoint"):
            what = f"JDK {major}, {backend}"
            # Without C1 there is one body of each, and it is not compiled anew after a few calls.
            with start_java(java, "Replaced", flags=["-XX:-TieredCompilation"], dontinline="Replaced::*") as target:
                warm(target, names, "c2", request="go 20000")
                # The first call since then may still go to the interpreter, and mends the call site.
                target.go("go 1000")
                run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", backend, names[1])
                equal(run.started()["sites"], 1, f"{what}: sites")
                target.go("go 1000")
                target.go("load 0")
                target.go("go 1")
                run.interrupt()
                summary = run.result((0, 1)).summaries()[names[1]]
                equal(summary["calls"], 1000, f"{what}: calls before it was replaced")
                target.check_sound()
                target.go("go 1000")


harness.main(test_interpreted_c1_c2, test_interpreted_only, test_replaced)
