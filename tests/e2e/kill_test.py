"""jitscope is killed at random moments of attaching and detaching: the target never stays stopped, never
crashes, never computes wrongly, and `expose --undo` puts every byte back.

JITSCOPE_KILLS: how many kills in all (50)."""

import os
import random
import signal
import time

import harness
from harness import Run, bodies, check, equal, jitscope, wait_for
from runtimes import jdks, start_java, warm

KILLS = int(os.environ.get("JITSCOPE_KILLS", "50"))
PATTERN = "Fifty.m*"


def entry_bytes(target):
    """{body: first bytes at its entry}."""
    found = {}
    for body in bodies(target, PATTERN):
        if body["state"] == "in_use" and not body["osr"]:
            key = tuple(body[field] for field in ("method", "address", "size", "entry", "tier"))
            found[key] = target.memory(int(body["entry"], 0), 16)
    return found


def trace(target):
    return Run("trace", "-p", target.pid, "--count", "--json", PATTERN)


def timed(function):
    begin = time.monotonic()
    function()
    return time.monotonic() - begin


def progress(target):
    """The target's own checks go on and are right."""
    def checked():
        words = target.ask("report").split()
        equal(words[2:4], ["errors", "0"], "the target's checks")
        return int(words[1])
    before = checked()
    wait_for(lambda: checked() > before, "the target to go on", 30)


def kill_at(moment, run):
    """Any moment will do, so this waits for time and for nothing else."""
    time.sleep(moment)
    if run.running():
        run.signal(signal.SIGKILL)
    run.process.wait()


def kills(target, count, rng):
    run = trace(target)
    attach = timed(run.started)
    run.interrupt()
    detach = timed(run.result)
    dirty = False
    for number in range(count):
        detaching = number % 2 == 1
        # What a dead one left keeps the next from probing; to start on it must be harmless all the same.
        if dirty and (detaching or rng.random() < 0.7):
            jitscope("expose", "--undo", "-p", target.pid)
            progress(target)
        run = trace(target)
        if detaching:
            run.started()
            run.interrupt()
            kill_at(rng.uniform(0, detach), run)
        else:
            kill_at(rng.uniform(0, attach * 1.1), run)
        dirty = True
        target.check_sound()
        progress(target)


def test_kill_at_random_moments():
    seed = int(os.environ.get("JITSCOPE_SEED", time.time_ns() % 1_000_000))
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    for major, java in jdks().items():
        with start_java(java, "FiftyMain", dontinline="Fifty::*") as target:
            warm(target, [f"Fifty.m{k}(int)" for k in range(50)], "c2")
            before = entry_bytes(target)
            check(len(before) >= 50, f"JDK {major}: only {len(before)} bodies")
            target.ask("run")
            kills(target, KILLS // len(jdks()), rng)
            jitscope("expose", "--undo", "-p", target.pid)
            after = entry_bytes(target)
            same = before.keys() & after.keys()
            check(len(same) >= 40, f"JDK {major}: only {len(same)} bodies are still the same")
            for key in same:
                equal(after[key].hex(), before[key].hex(), f"JDK {major}: bytes of {key}")
            progress(target)
            target.check_sound()


harness.main(test_kill_at_random_moments)
