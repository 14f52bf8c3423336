"""What was counted is printed and what is left is said, however a trace ends: with another tracer at the target,
with several signals at once, or beside another jitscope."""

import json
import os
import pathlib
import shutil
import signal
import sys
import threading
import time

import harness
from harness import JITSCOPE, Child, Run, Skip, bodies, check, equal, jitscope, wait_for
from runtimes import hot_name, jdks, start_java, start_node, warm

FIXED = "Truth.fixed(int)"
ROUNDS = int(os.environ.get("JITSCOPE_ROUNDS", "6"))  # of each of two loops
HOLD = harness.HERE / "hold.py"


def warmed(java):
    target = start_java(java, "TruthMain", dontinline="Truth*::*")
    warm(target, [FIXED], "c2")
    return target


def newest():
    return max(jdks().items())[1]


def entry_of(target):
    return next(int(body["entry"], 0) for body in bodies(target, FIXED)
                if body["state"] == "in_use" and not body["osr"])


def hold(target):
    """Another tracer, of every thread, until its end."""
    tracer = Child([sys.executable, "-B", HOLD, str(target.pid)])
    tracer.expect("held")
    return tracer


def traced(target, *words):
    run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", *words, FIXED)
    run.started()
    target.go("go 1000")
    return run


def count_of(run):
    check(FIXED in run.summaries(), f"no summary: {run.story()}")
    return run.summaries()[FIXED]["calls"]


def says(run, text):
    """Until it has said so on standard error."""
    try:
        wait_for(lambda: any(text in line for line in run.err), text)
    except harness.Failure as failure:
        raise harness.Failure(f"{failure}: {run.story()}") from None


# A tracer that lets go is waited for.
def test_held_at_the_end():
    with warmed(newest()) as target:
        entry = entry_of(target)
        before = target.memory(entry, 16)
        run = traced(target)
        with hold(target) as tracer:
            run.interrupt()
            says(run, "waiting: ")
            check(str(tracer.pid) in run.error, f"the message names the tracer: {run.error}")
        equal(count_of(run.result()), 1000, "calls")
        equal(target.memory(entry, 16).hex(), before.hex(), "the entry's bytes")
        target.go("go 1000")
        target.check_sound()


# One that stays is not, once the user says so: the count is printed, the jump is named with its cure.
def test_held_for_good():
    with warmed(newest()) as target:
        entry = entry_of(target)
        before = target.memory(entry, 16)
        run = traced(target)
        with hold(target):
            run.interrupt()
            says(run, "waiting: ")
            run.interrupt()
            run.result(3)
            equal(count_of(run), 1000, "calls")
            check("1 jump is left" in run.error and f"jitscope expose --undo -p {target.pid}" in run.error,
                  f"what is left is said: {run.error}")
            equal(target.memory(entry, 1), b"\xe9", "the jump that is left")
            target.go("go 1000")
        jitscope("expose", "--undo", "-p", target.pid)
        equal(target.memory(entry, 16).hex(), before.hex(), "the entry's bytes after --undo")
        target.go("go 1000")
        target.check_sound()


def test_expose_held():
    with warmed(newest()) as target:
        entry = entry_of(target)
        run = Run("expose", "-p", target.pid, FIXED)
        says(run, "in place until")
        with hold(target):
            run.interrupt()
            says(run, "waiting: ")
            run.interrupt()
            run.result(3)
            check("1 jump is left" in run.error and f"jitscope expose --undo -p {target.pid}" in run.error,
                  f"what is left is said: {run.error}")
        jitscope("expose", "--undo", "-p", target.pid)
        check(target.memory(entry, 1) != b"\xe9", "the jump is gone after --undo")
        target.go("go 1000")
        target.check_sound()


# A body that appears while the process is held is taken in when it is not any more, and the trace goes on.
def test_strace_passes_by():
    if not shutil.which("strace"):
        raise Skip("no strace")
    with warmed(newest()) as target:
        run = traced(target)
        with Child(["strace", "-f", "-p", str(target.pid), "-o", "/dev/null"]) as strace:
            wait_for(lambda: any("attached" in line for line in strace.err), "strace to attach")
            target.go("go 1000")
            run.interrupt()
            says(run, "waiting: ")
            strace.signal(signal.SIGINT)
            strace.finish()
        equal(count_of(run.result()), 2000, "calls beside strace")
        target.check_sound()


def test_two_signals():
    with warmed(newest()) as target:
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM),
                              (signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGHUP)) * 2:
            run = traced(target)
            run.signal(first)
            time.sleep(0.005)
            if run.running():
                run.signal(second)
            equal(count_of(run.result()), 1000, f"calls, ended by {first.name} and {second.name}")
        target.check_sound()


# timeout(1) signals its child, and then its group, the child among it.
def test_timeout():
    if not shutil.which("timeout"):
        raise Skip("no timeout")
    with warmed(newest()) as target:
        for _ in range(6):
            run = Child(["timeout", "600", JITSCOPE, "trace", "-p", target.pid, "--count", FIXED])
            wait_for(lambda: any(line.startswith("tracing ") for line in run.err), f"the start of {run.story()}")
            target.go("go 1000")
            run.signal(signal.SIGTERM)  # which it hands on as it does when the time is over
            run.finish()
            check(any("1000 calls" in line for line in run.out), f"the summary: {run.story()}")
        target.check_sound()


# Traces of other methods of the same process come and go: each waits its turn, none falls back to a breakpoint.
def test_two_loops():
    with start_java(newest(), "FiftyMain", dontinline="Fifty::*") as target:
        warm(target, ["Fifty.m0(int)", "Fifty.m1(int)"], "c2")
        target.ask("run")
        failures = []

        def loop(method):
            try:
                for _ in range(ROUNDS):
                    run = jitscope("trace", "-p", target.pid, "--count", "--json", "--duration", "0.2", method)
                    used = {site["backend"] for site in run.summaries()[method]["sites"]}
                    equal(used, {"trampoline"}, f"backends: {run.story()}")
            except Exception as error:  # a thread's own would be lost
                failures.append(error)

        loops = [threading.Thread(target=loop, args=(f"Fifty.m{k}(int)",)) for k in range(2)]
        for each in loops:
            each.start()
        for each in loops:
            each.join()
        check(not failures, f"{len(failures)} loops ended early: {failures}")
        target.check_sound()


# Two on one method: both see all calls, whoever ends first. The second counts in the first one's slot, and
# when that has gone in one of its own.
def test_two_on_one_method():
    with warmed(newest()) as target:
        entry = entry_of(target)
        before = target.memory(entry, 16)
        for order in ((0, 1), (1, 0)):
            runs = [traced(target)]
            jump = target.memory(entry, 5)
            image = image_of(target, entry)
            runs.append(second_on(target))
            equal(target.memory(entry, 5).hex(), jump.hex(), "the second changes nothing")
            target.go("go 2000")
            expected = {runs[0]: 3000, runs[1]: 2000}
            for k in order:
                runs[k].interrupt()
                equal(count_of(runs[k].result()), expected[runs[k]], f"the count of number {k}, ends {order}")
                if k == 0 and order == (0, 1):
                    taken_over(target, entry, image)
                target.go("go 100")
                expected = {run: calls + 100 for run, calls in expected.items()}
            equal(target.memory(entry, 16).hex(), before.hex(), "the entry's bytes")
        sites = runs[1].summaries()[FIXED]["sites"]
        equal([site["backend"] for site in sites], ["trampoline"], "no register was needed")
        target.check_sound()


def second_on(target):
    run = Run("trace", "-p", target.pid, "--count", "--json", FIXED)
    run.started()
    check(any("another jitscope" in note for note in run.objects("started")[0]["notes"]), f"it is said: {run.story()}")
    return run


def image_of(target, entry):
    """The file of the live image that the entry's jump leads into; None: there is no jump."""
    code = target.memory(entry, 5)
    if code[:1] != b"\xe9":
        return None
    slot = entry + 5 + int.from_bytes(code[1:], "little", signed=True)
    for line in pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        begin, end = (int(word, 16) for word in fields[0].split("-"))
        if begin <= slot < end:
            return fields[3:5]
    return None


def taken_over(target, entry, image):
    """A jump into another image is there; it may lie at the same place."""
    wait_for(lambda: image_of(target, entry) not in (None, image), "a jump of its own")


# The same beside `expose`, whose slots call a point that is shared by all bodies of the method; and beside a
# jitscope that was killed, up to the undo of what it left.
def test_trace_of_what_is_exposed():
    with warmed(newest()) as target:
        entry = entry_of(target)
        before = target.memory(entry, 16)
        for killed in (False, True):
            first = Run("expose", "-p", target.pid, FIXED)
            says(first, "in place until")
            jump = target.memory(entry, 5)
            image = image_of(target, entry)
            if killed:
                first.kill()
            run = second_on(target)
            equal(target.memory(entry, 5).hex(), jump.hex(), "the second changes nothing")
            target.go("go 2000")
            if killed:
                jitscope("expose", "--undo", "-p", target.pid)
            else:
                first.interrupt()
                first.result()
            taken_over(target, entry, image)
            target.go("go 100")
            run.interrupt()
            equal(count_of(run.result()), 2100, f"calls beside expose, killed: {killed}")
            sites = run.summaries()[FIXED]["sites"]
            equal(len(sites), 2, "one in the other's slot, one of its own")
            check(sites[0]["until_ns"] <= sites[1]["since_ns"] and sites[1]["unseen_ns"] > 0,
                  f"what was not seen between the two is said: {sites}")
            equal(target.memory(entry, 16).hex(), before.hex(), "the entry's bytes")
        target.check_sound()


# What exposes a method while another one traces it takes it in as soon as that one has ended.
def test_expose_after_trace():
    with warmed(newest()) as target:
        entry = entry_of(target)
        first = traced(target)
        jump = target.memory(entry, 5)
        exposed = Run("expose", "-p", target.pid, "--json", FIXED)
        equal(json.loads(exposed.expect('{"type":"exposed"'))["sites"], 0, "sites while it is traced")
        first.interrupt()
        equal(count_of(first.result()), 1000, "calls")
        wait_for(lambda: target.memory(entry, 1) == b"\xe9" and target.memory(entry, 5) != jump,
                 "the entry to lead through the symbol")
        exposed.interrupt()
        exposed.result()
        target.go("go 1000")
        check(target.memory(entry, 1) != b"\xe9", "the jump is gone")
        target.check_sound()


def test_never_compiled():
    for flag in ("-Xint", "-XX:TieredStopAtLevel=0"):
        with start_java(newest(), "Late", flags=[flag]) as target:
            target.go("go 10")
            for words in (("trace", "--count"), ("expose",)):
                run = jitscope(words[0], "-p", target.pid, *words[1:], "Late.work", status=3, limit=60)
                check("never compiles" in run.error and flag in run.error, f"the reason: {run.error}")


def test_count_and_stack():
    run = jitscope("trace", "-p", os.getpid(), "--count", "--stack", "x.y", status=2)
    check("--count" in run.error and "--stack" in run.error, run.error)


# A line in the map is a new body, found when it is written; the summary says since when it may have run.
def test_new_body_in_a_map():
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        target.go("go 1")
        run = Run("trace", "-p", target.pid, "--json", "truth.js:hot")
        started = run.started()
        equal(started["sites"], 0, "sites while it is bytecode")
        wait_for(lambda: target.go("go 2000") and any('"type":"call"' in line for line in list(run.out)),
                 "a call of the new body")
        run.interrupt()
        summary = run.result().summaries()[hot_name()]
        unseen = [site["unseen_ns"] for site in summary["sites"]]
        print(f"     new bodies may have run unseen for {', '.join(f'{ns / 1e6:.1f}' for ns in unseen)} ms")
        check(unseen and all(ns > 0 for ns in unseen), f"all of them are new: {summary}")
        equal(summary["coverage"]["unseen_ns"], sum(unseen), "in all")
        target.check_sound()


harness.main(test_held_at_the_end, test_held_for_good, test_expose_held, test_strace_passes_by, test_two_signals,
             test_timeout, test_two_loops, test_two_on_one_method, test_trace_of_what_is_exposed,
             test_expose_after_trace, test_never_compiled,
             test_count_and_stack, test_new_body_in_a_map)
