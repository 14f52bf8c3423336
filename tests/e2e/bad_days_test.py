"""What may happen to a target and to jitscope while they work together."""

import os
import shutil
import signal
import sys

import harness
from harness import Child, Run, Skip, bodies, check, equal, jitscope, wait_for
from runtimes import in_use, java_command, jdks, start_java, start_jit_page, start_native, warm

FIXED = "Truth.fixed(int)"

SEIZE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
for tid in os.listdir(f"/proc/{sys.argv[1]}/task"):
    if libc.ptrace(0x4206, int(tid), None, None) != 0:  # PTRACE_SEIZE
        sys.exit(os.strerror(ctypes.get_errno()))
print("seized", flush=True)
sys.stdin.read()
"""


def counted(target, *words, status=0, calls=1000, name=FIXED):
    run = Run("trace", "-p", target.pid, "--count", "--json", *words)
    run.started()
    target.go(f"go {calls}")
    run.interrupt()
    summary = run.result(status).summaries()[name]
    equal((summary["calls"], summary["lost"]), (calls, 0), f"{words}: calls, lost")
    target.check_sound()


def test_more_than_four_breakpoints():
    with start_jit_page() as target:
        target.write_map()
        run = jitscope("trace", "-p", target.pid, "--count", "--backend", "breakpoint", "page_f*", status=3,
                       limit=20)
        check("4" in run.error and "breakpoint" in run.error, f"message: {run.error}")
        target.go("go 100")
        target.check_sound()


def test_another_tracer():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED], "c2")
            with Child([sys.executable, "-c", SEIZE, str(target.pid)]) as tracer:
                tracer.expect("seized")
                run = jitscope("trace", "-p", target.pid, "--count", "--backend", "trampoline", FIXED,
                               status=3, limit=30)
                check(str(tracer.pid) in run.error, f"the message names the tracer: {run.error}")
                breakpoints = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "breakpoint", FIXED)
                breakpoints.started()
                target.go("go 1000")
                breakpoints.interrupt()
                equal(breakpoints.result().summaries()[FIXED]["calls"], 1000, "counted beside a tracer")
            target.check_sound()
            counted(target, "--backend", "trampoline", FIXED)


# A sandbox that lets the system calls of the surgery fail, or kills for them.
def test_seccomp():
    with start_native() as target:
        warm(target, [FIXED], "c2")
        equal(target.ask("seccomp"), "0 0", "the filter is in place")
        counted(target, "--backend", "trampoline", FIXED)
        target.go("go 100")


def test_strict_seccomp():
    with start_jit_page() as target:
        target.write_map()
        equal(target.ask("seccomp"), "0", "the filter is in place")
        run = Run("trace", "-p", target.pid, "--count", "--json", "page_f0")
        run.started()
        target.go("go 1000")
        run.interrupt()
        equal(run.result().summaries()["page_f0"]["calls"], 1000, "counted in a sandbox")
        target.go("go 100")
        target.check_sound()


def test_target_exits():
    for number in (0, 3):
        for java in jdks().values():
            with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
                warm(target, [FIXED], "c2")
                run = Run("trace", "-p", target.pid, "--count", "--json", FIXED)
                run.started()
                target.go("go 1000")
                target.send(f"quit {number}")
                summary = run.result(4, limit=30).summaries()[FIXED]
                equal((summary["calls"], summary["lost"]), (1000, 0), "calls before the end")
                equal(target.finish(), number, "the target's own exit status")


def test_target_is_killed():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED], "c2")
            run = Run("trace", "-p", target.pid, "--count", "--json", FIXED)
            run.started()
            target.go("go 1000")
            target.kill()
            equal(run.result(4, limit=30).summaries()[FIXED]["calls"], 1000, "calls before the end")


def test_target_execs():
    with start_jit_page() as target:
        target.write_map()
        run = Run("trace", "-p", target.pid, "--count", "--json", "page_f0")
        run.started()
        target.go("go 1000")
        target.exec_again()
        summary = run.result(4, limit=30).summaries()["page_f0"]
        equal(summary["calls"], 1000, "calls before exec")
        target.go("go 1000")
        target.check_sound()


# Every directory that could hold the live image is noexec, read only or full.
CROWDED = """
mount -t tmpfs -o noexec tmpfs /tmp && mount -t tmpfs -o ro tmpfs /var/tmp &&
mount -t tmpfs -o size=4k tmpfs /dev/shm && mount -t tmpfs -o noexec tmpfs /run && cd /tmp && exec "$0" "$@"
"""


def test_no_directory_for_the_image():
    if not shutil.which("unshare") or os.geteuid() != 0:
        raise Skip("needs root and unshare")
    # The classes must lie where nothing is mounted over them.
    covered = ("/tmp", "/var/tmp", "/dev/shm", "/run")
    places = (os.getcwd(), os.path.expanduser("~"))
    base = next((each for each in places if not each.startswith(covered)), None)
    if base is None:
        raise Skip("neither the working directory nor the home lies outside /tmp")
    for java in jdks().values():
        command = java_command(java, "TruthMain", dontinline="Truth*::*", base=base)
        with harness.Target(["unshare", "--mount", "sh", "-c", CROWDED, *command]) as target:
            warm(target, [FIXED], "c2")
            counted(target, "--backend", "trampoline", FIXED)
            counted(target, "--backend", "breakpoint", FIXED)


def test_interrupted_twice():
    for java in jdks().values():
        with start_java(java, "FiftyMain", dontinline="Fifty::*") as target:
            warm(target, [f"Fifty.m{k}(int)" for k in range(50)], "c2")
            before = {body["entry"]: target.memory(int(body["entry"], 0), 16) for each in
                      in_use(target, "Fifty.m*").values() for body in each}
            run = Run("trace", "-p", target.pid, "--count", "--json", "Fifty.m*")
            run.started()
            run.interrupt()
            run.interrupt()
            status = run.finish()
            check(status in (0, 130, -signal.SIGINT), f"status {status}: {run.story()}")
            after = {body["entry"]: target.memory(int(body["entry"], 0), 16) for each in
                     in_use(target, "Fifty.m*").values() for body in each}
            equal(after, before, "the entries' bytes")
            target.go("go 100")
            target.check_sound()


# Two at once: the second must not take the first one's jumps for the original bytes.
def test_two_at_once():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED], "c2")
            entry = next(int(body["entry"], 0) for body in bodies(target, FIXED) if body["state"] == "in_use")
            before = target.memory(entry, 16)
            first = Run("trace", "-p", target.pid, "--count", "--json", FIXED)
            first.started()
            second = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", FIXED)
            wait_for(lambda: not second.running() or second.out, "the second to start or to refuse", 30)
            target.go("go 1000")
            first.interrupt()
            equal(first.result().summaries()[FIXED]["calls"], 1000, "the first one's count")
            target.go("go 1000")
            if second.running():
                second.interrupt()
            check(second.finish() in (0, 1, 3), f"the second: {second.story()}")
            target.go("go 1000")
            equal(target.memory(entry, 16).hex(), before.hex(), "the entry's bytes")
            target.check_sound()


harness.main(test_more_than_four_breakpoints, test_another_tracer, test_seccomp, test_strict_seccomp, test_target_exits,
             test_target_is_killed, test_target_execs, test_no_directory_for_the_image,
             test_interrupted_twice, test_two_at_once)
