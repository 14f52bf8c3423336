"""A traced process that forks: parent and child live on, the counts of the parent are exact."""

import harness
from harness import Run, check, equal
from runtimes import jdks, start_java, start_jit_page, start_native, warm

FIXED = "Truth.fixed(int)"


def test_java_starts_processes():
    for major, java in jdks().items():
        for mechanism in ("FORK", "VFORK", "POSIX_SPAWN"):
            what = f"JDK {major}, {mechanism}"
            with start_java(java, "TruthMain", flags=[f"-Djdk.lang.Process.launchMechanism={mechanism}"],
                            dontinline="Truth*::*") as target:
                warm(target, [FIXED], "c2")
                run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", FIXED)
                run.started()
                reply = target.go("spawn 10")
                check(reply.endswith(" failed 0"), f"{what}: {reply}")
                run.interrupt()
                summary = run.result().summaries()[FIXED]
                equal((summary["calls"], summary["lost"]), (100_000, 0), f"{what}: calls, lost")
                target.check_sound()


# The child runs the patched code: it inherits both the jump and the page that it leads to.
def test_child_of_a_jvm_calls_the_traced_method():
    with start_native() as target:
        warm(target, [FIXED], "c2")
        run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", FIXED)
        run.started()
        for _ in range(5):
            equal(target.ask("fork 1000", 30), "child 0 errors 0", "child's status")
        run.interrupt()
        summary = run.result().summaries()[FIXED]
        # A child's calls may be counted or not; the parent's always are.
        check(summary["calls"] in (20_000, 25_000) and summary["lost"] == 0, f"counts: {summary}")
        equal(target.ask("fork 1000"), "child 0 errors 0", "a child after the trace")
        target.check_sound()


def test_child_of_a_c_program_calls_the_traced_function():
    with start_jit_page() as target:
        target.write_map()
        run = Run("trace", "-p", target.pid, "--count", "--json", "page_f0", "page_f1")
        run.started()
        for _ in range(5):
            equal(target.ask("fork 1000"), "child 0 errors 0", "child's status")
        run.interrupt()
        for name, summary in run.result().summaries().items():
            check(summary["calls"] in (5000, 10000) and summary["lost"] == 0, f"{name}: {summary}")
        equal(target.ask("fork 1000"), "child 0 errors 0", "a child after the trace")
        target.check_sound()


harness.main(test_java_starts_processes, test_child_of_a_jvm_calls_the_traced_method,
             test_child_of_a_c_program_calls_the_traced_function)
