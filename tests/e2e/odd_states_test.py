"""Targets in states that few programs are in for long: waiting in vfork(2), sharing their memory with another process,
becoming another program by every kind of exec, without a main thread, of 32 bits. Nothing hangs, nothing is left, what
cannot be done is said with its reason, and the program computes what it always did."""

import itertools
import os
import pathlib
import shutil
import struct

from harness import Run, Skip, Target, check, equal, jitscope, main, scratch, wait_for
from isolated import Isolated

PAGE = "page_f*"
F0 = "page_f0 /page.js:1:1"
COUNT = ["--count", "--json"]


def program(base="/tmp"):
    """The target in the guise of a runtime whose code stays where it is, so that it gets trampolines."""
    built = pathlib.Path(os.environ.get("JITSCOPE_PROGRAMS", "")) / "odd_states"
    if not os.access(built, os.X_OK):
        raise Skip("no target: JITSCOPE_PROGRAMS is not set")
    return shutil.copy(built, scratch(base) / "node")


def start(*words, before=(), copy=None, **options):
    return Target([*before, copy or program(), "--perf-basic-prof", *words, "0000000"], **options)


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def unchanged(target):
    equal(target.ask("check"), "changed 0", "the code")


def works(target):
    """As if nothing had been, and it can be traced."""
    target.go("go 1000")
    unchanged(target)
    target.check_sound()
    run = Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE)
    run.started()
    target.go("go 1000")
    run.interrupt()
    calls = [each["calls"] for each in run.result().summaries().values()]
    check(min(calls) >= 1000 if "beat" in target.argv else calls == 6 * [1000], f"calls: {calls}")
    unchanged(target)


def begin_vfork(target):
    target.send("vfork")
    return int(target.expect("vfork child ").split()[2])


def end_vfork(target):
    target.send("leave")
    equal(target.expect("vforked "), "vforked 0", "the child's status")


def test_before_vfork_ends():
    """Nothing is begun while the child runs in the same memory, in none of the two."""
    with start("beat") as target:
        child = begin_vfork(target)
        runs = [Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE),
                Run("trace", "-p", target.pid, *COUNT, "--backend", "inplace", F0.split()[0] + "*"),
                Run("expose", "-p", target.pid, "--keep", PAGE),
                Run("trace", "-p", child, "--map", target.map_path, *COUNT, "--backend", "trampoline", PAGE)]
        target.go("go 1000")
        for run in runs:
            run.result(3)
            check("vfork" in run.error and "nothing was changed" in run.error, f"the reason: {run.story()}")
        unchanged(target)
        # Ctrl-C ends the wait; so does the child when it executes a program.
        run = Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE)
        wait_for(lambda: "waiting: " in run.error, "the wait to be told")
        run.interrupt()
        run.result(3)
        runs = [Run("trace", "-p", pid, "--map", target.map_path, *COUNT, "--backend", "trampoline", PAGE)
                for pid in (target.pid, child)]
        wait_for(lambda: all("waiting: " in run.error for run in runs), "the waits to be told")
        end_vfork(target)
        runs[0].started()
        runs[0].interrupt()
        runs[0].result()
        runs[1].result(4)
        works(target)


def test_vfork_at_the_end():
    """The entries are put back when the child is gone; when it stays, what is left is said."""
    with start("beat") as target, start() as stays:
        both = [target, stays]
        runs = [Run("trace", "-p", each.pid, *COUNT, "--backend", "trampoline", PAGE) for each in both]
        for each, run in zip(both, runs):
            run.started()
            begin_vfork(each)
            each.go("go 1000")
            run.interrupt()
        wait_for(lambda: "waiting: " in runs[0].error, "the wait to be told")
        end_vfork(target)
        runs[0].result()
        runs[1].result(3)
        check("vfork child" in runs[1].error and "expose --undo" in runs[1].error, f"what is left: {runs[1].story()}")
        stays.go("go 1000")
        end_vfork(stays)
        jitscope("expose", "--undo", "-p", stays.pid)
        for each in both:
            unchanged(each)
            each.go("go 1000")
            each.check_sound()


def test_vfork_all_the_time():
    for words, children, traces in (((), 600, 20), (("beat",), 200, 6)):
        with start(*words) as target:
            run = Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE)
            run.started()
            target.go("spawns 100")
            run.interrupt()
            calls = [each["calls"] for each in run.result().summaries().values()]
            check(min(calls) >= 100 if words else calls == 6 * [100], f"calls: {calls}")
            target.send(f"spawns {children}")
            for backend in traces // 2 * ["trampoline", "inplace"]:
                jitscope("trace", "-p", target.pid, *COUNT, "--backend", backend, "--duration", 0.01, PAGE)
            equal(target.expect("spawns "), f"spawns calls {children} errors 0", "children and results")
            works(target)


def test_memory_of_two_processes():
    """Who shares the memory is not stopped, and would run what is being changed."""
    with start() as target:
        child = int(target.ask("share").split()[1])
        runs = [Run(*words, "-p", pid, "--map", target.map_path, PAGE)
                for pid in (target.pid, child)
                for words in (["trace", *COUNT, "--backend", "trampoline"], ["trace", *COUNT, "--backend", "inplace"],
                              ["expose", "--keep"])]
        for run in runs:
            run.result(3)
            check("has the same memory" in run.error, f"the reason: {run.story()}")
        unchanged(target)
        equal(target.ask("unshare"), "child 0", "the child's status")
        works(target)


def test_exec_beside_a_vfork_child():
    """The old memory lives on in the child, at the very addresses of the new program's."""
    with start("beat", before=("setarch", "-R")) as target:
        run = Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE)
        run.started()
        child = begin_vfork(target)
        target.send("orphan")
        target.expect("ready ")
        run.result(4)
        check("became another program" in run.error, f"the reason: {run.story()}")
        check(state(child) in "SR", "the child runs")
        works(target)


def trace_through_execs(target, images):
    """Short traces of a program that becomes itself anew all the time, by its main thread and by others."""
    target.send(f"execs {images}")
    untrue = ("unmapped or replaced", "is not permitted", "exchanged")
    for words in itertools.cycle((["--backend", "trampoline"], ["--backend", "inplace"])):
        if not target.running() or any(line.startswith("ready ") for line in target.out[1:]):
            break
        run = jitscope("trace", "-p", target.pid, *COUNT, *words, "--duration", 0.03, PAGE, status=(0, 1, 3, 4))
        check(not any(word in run.error for word in untrue), f"what it says: {run.story()}")
    equal(target.expect("ready ").split()[-1], "0", "privileges")
    works(target)


def test_execs():
    with start() as target:
        trace_through_execs(target, 10)
    with start("beat", before=("setarch", "-R")) as target:
        trace_through_execs(target, 10)


def test_execs_in_another_pid_namespace():
    with Isolated([program("/var/tmp"), "--perf-basic-prof", "0000000"]) as target:
        trace_through_execs(target, 10)


def may_raise():
    if os.geteuid() != 0:
        raise Skip("needs root")


def test_setuid_execs():
    may_raise()
    copy = program("/var/tmp")
    os.chmod(copy, 0o4755)
    with start("privileged", copy, "0", copy=copy, user=65534, group=65534, extra_groups=[]) as target:
        trace_through_execs(target, 10)


def test_execs_with_file_capabilities():
    may_raise()
    copy = program("/var/tmp")
    bind_service = 10
    try:
        os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 1 << bind_service, 0, 0, 0))
    except OSError as error:
        raise Skip(f"no file capabilities: {error}") from None
    with start("capable", copy, str(bind_service), copy=copy, user=65534, group=65534, extra_groups=[]) as target:
        trace_through_execs(target, 10)


def test_without_a_main_thread():
    with start() as target:
        run = Run("trace", "-p", target.pid, *COUNT, "--backend", "trampoline", PAGE)
        run.started()
        target.go("go 1000")
        target.send("retire")
        wait_for(lambda: state(target.pid) == "Z", "the main thread to have exited")
        target.go("go 1000")
        run.interrupt()
        equal(run.result().summaries()[F0]["calls"], 2000, "calls before and after")
        works(target)
        run = Run("trace", "-p", target.pid, *COUNT, "--backend", "inplace", "page_f0*")
        run.started()
        target.go("go 1000")
        run.interrupt()
        equal(run.result().summaries()[F0]["calls"], 1000, "calls, by inplace")
        jitscope("expose", "-p", target.pid, "--keep", "page_f1*")
        check(target.ask("check") != "changed 0", "a jump is there")
        jitscope("expose", "--undo", "-p", target.pid)
        unchanged(target)
        target.go("go 1000")


def test_32_bits():
    """By the vector that tells: few kernels still run such programs."""
    with start() as target:
        if target.ask("narrow") != "0":
            raise Skip("this program may not set its auxiliary vector")
        for words in (["trace", "--backend", "trampoline"], ["trace", "--backend", "inplace"],
                      ["trace", "--backend", "breakpoint"], ["trace"], ["expose"]):
            run = jitscope(words[0], "-p", target.pid, *words[1:], PAGE, status=3)
            check("is a 32-bit program" in run.error, f"the reason: {run.story()}")
        unchanged(target)
        target.go("go 1000")


main(test_before_vfork_ends, test_vfork_at_the_end, test_vfork_all_the_time, test_memory_of_two_processes,
     test_exec_beside_a_vfork_child, test_execs, test_execs_in_another_pid_namespace, test_setuid_execs,
     test_execs_with_file_capabilities, test_without_a_main_thread, test_32_bits)
