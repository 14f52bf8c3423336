"""Following a process that does nothing costs next to nothing, counted in looks and in wake-ups rather than in time;
and what happens after a long silence is seen as if there had been none."""

import pathlib
import re
import time

import harness
from harness import Run, check, equal, jitscope, scratch, wait_for
from runtimes import hot_name, jdks, start_java, start_node, warm

QUIET = 4  # seconds
METHOD = "Truth.fixed"


def wake_ups(run):
    """How often its threads have slept."""
    total = 0
    for task in pathlib.Path(f"/proc/{run.pid}/task").iterdir():
        found = re.search(r"^voluntary_ctxt_switches:\t(\d+)", (task / "status").read_text(), re.MULTILINE)
        total += int(found[1])
    return total


def wake_ups_while_quiet(run):
    time.sleep(1)  # the pauses grow
    before = wake_ups(run)
    time.sleep(QUIET)
    return wake_ups(run) - before


def java(major):
    return start_java(jdks()[major], "TruthMain", dontinline="Truth*::*", others=("Truth",))


def trace_beside(target, pattern, go):
    with Run("trace", "-p", target.pid, "--count", "--json", pattern) as run:
        run.started()
        woken = wake_ups_while_quiet(run)
        check(woken <= 10 * QUIET, f"woke up {woken} times in {QUIET} s beside a process that sleeps")
        go()
        run.interrupt()
        run.result()
        (summary,) = run.summaries().values()
        check(summary["looks"] <= 2 + QUIET / 2, f"{summary['looks']} looks in {QUIET} s")
        return summary["calls"]


def test_trace_sleeps_beside_a_sleeping_jvm():
    for major in jdks():
        with java(major) as target:
            warm(target, [METHOD], "c2")
            calls = trace_beside(target, METHOD, lambda: target.go("only-fixed 1000"))
            equal(calls, 1000, f"calls on JDK {major}")


def test_trace_sleeps_beside_a_sleeping_node():
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        warm(target, [hot_name()], "turbofan")
        calls = trace_beside(target, "truth.js:hot", lambda: target.go("go 1000"))
        equal(calls, 1000, "calls")


def test_the_first_call_after_a_silence_is_shown_at_once():
    with java(max(jdks())) as target:
        warm(target, [METHOD], "c2")
        with Run("trace", "-p", target.pid, "--json", METHOD) as run:
            run.started()
            wake_ups_while_quiet(run)
            target.go("only-fixed 1")
            run.expect('{"type":"call"')
            run.interrupt()
            (summary,) = run.result().summaries().values()
            equal(summary["calls"], 1, "calls")


def test_expose_sleeps_beside_a_sleeping_jvm():
    with java(max(jdks())) as target:
        warm(target, [METHOD], "c2")
        with Run("expose", "-p", target.pid, METHOD) as run:
            wait_for(lambda: "in place until Ctrl-C" in run.error, "the point to be in place")
            woken = wake_ups_while_quiet(run)
            check(woken <= 10 * QUIET, f"woke up {woken} times in {QUIET} s beside a JVM that sleeps")
            run.interrupt()
            run.result()
            looks = int(re.search(r"in all, (\d+) looks?", run.error)[1])
            check(looks <= 2 + QUIET / 2, f"{looks} looks in {QUIET} s")


def looks_of(run, target):
    found = re.search(rf"process {target.pid} .*, (\d+) looks?, from", run.error)
    check(found, f"nothing was followed: {run.error}")
    return int(found[1])


def test_record_hardly_looks_at_what_sleeps():
    data = scratch() / "perf.data"
    with java(max(jdks())) as target:
        warm(target, [METHOD], "c2")
        run = jitscope("record", "-p", target.pid, "-o", data, "--duration", QUIET)
        # One at first, one at the end, and what an idle JVM's own work and the longest pause make.
        looks = looks_of(run, target)
        check(looks <= 4 + 2 * QUIET, f"{looks} looks in {QUIET} s at a JVM that sleeps")
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        warm(target, [hot_name()], "turbofan")
        run = jitscope("record", "-p", target.pid, "-o", data, "--duration", QUIET)
        looks = looks_of(run, target)
        check(looks <= 4 + QUIET, f"{looks} looks in {QUIET} s at a Node that sleeps")


def test_interrupts_end_a_silence_at_once():
    with java(max(jdks())) as target:
        warm(target, [METHOD], "c2")
        for words in (["trace", "--count"], ["trace"], ["expose"]):
            with Run(*words, "-p", target.pid, METHOD) as run:
                wait_for(lambda: "Ctrl-C" in run.error, "it to be in place")
                time.sleep(3)
                began = time.monotonic()
                run.interrupt()
                run.result()
                # The pauses are a quarter of a second by now, its own end takes some milliseconds.
                print(f"     {' '.join(words)} ended after {(time.monotonic() - began) * 1000:.0f} ms", flush=True)
            target.check_sound()


harness.main(test_trace_sleeps_beside_a_sleeping_jvm, test_trace_sleeps_beside_a_sleeping_node,
             test_the_first_call_after_a_silence_is_shown_at_once, test_expose_sleeps_beside_a_sleeping_jvm,
             test_record_hardly_looks_at_what_sleeps, test_interrupts_end_a_silence_at_once)
