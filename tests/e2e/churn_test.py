"""Probes come and go on a JVM that compiles, invalidates and frees code all the time: nothing crashes
and every result of the program is right.

JITSCOPE_SOAK_SECONDS: how long in all (60). scripts/soak runs this for longer."""

import os
import random
import time

import harness
from harness import bodies, check, equal, jitscope, wait_for
from runtimes import jdks, start_java

SECONDS = int(os.environ.get("JITSCOPE_SOAK_SECONDS", "60"))
# ZGC was an experiment before JDK 15, and is not there before 11.
EXPERIMENT = "-XX:+UnlockExperimentalVMOptions"
AT_ONCE = 100


def collectors(major):
    if major < 11:
        return ["UseG1GC", "UseParallelGC"]
    return ["UseG1GC", "UseZGC"]


def report(target):
    words = target.ask("report").split()
    equal(words[2:4], ["errors", "0"], f"the target's checks; {target.story()}")
    return int(words[1])


def candidates(target):
    return sorted({body["method"] for body in bodies(target)
                   if body["state"] == "in_use" and not body["osr"] and body["tier"][:2] in ("c1", "c2", "na")})


def rounds(target, seconds, rng):
    """How many rounds, how many of them without a probe, and how many counted calls."""
    end = time.monotonic() + seconds
    done = refused = calls = 0
    while time.monotonic() < end:
        names = candidates(target)
        chosen = rng.sample(names, min(AT_ONCE, len(names)))
        # 1: all of the chosen are gone by now. 3: a thread did not stop in time; nothing was changed.
        run = jitscope("trace", "-p", target.pid, "--count", "--json", "--duration", "1", "--max", "1000",
                       *chosen, status=(0, 1, 3))
        if run.finish() != 0:
            refused += 1
            print(f"refused: {run.err[-2:]}", flush=True)
        calls += sum(each["calls"] for each in run.objects("summary"))
        target.check_sound()
        before = report(target)
        wait_for(lambda: report(target) > before, "the target to go on", 30)
        done += 1
    return done, refused, calls


def test_churn():
    seed = int(os.environ.get("JITSCOPE_SEED", time.time_ns() % 1_000_000))
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    configurations = [(major, java, collector) for major, java in jdks().items() for collector in collectors(major)]
    for major, java, collector in configurations:
        flags = [EXPERIMENT, f"-XX:+{collector}", "-XX:ReservedCodeCacheSize=6m",
                 f"-XX:ErrorFile={harness.scratch()}/hs_err.log"]
        with start_java(java, "Churn", flags=flags, others=("ChurnUnit", "ChurnShape")) as target:
            wait_for(lambda: len(candidates(target)) >= 2 * AT_ONCE, "methods to be compiled", 60)
            done, refused, calls = rounds(target, SECONDS / len(configurations), rng)
            checked = report(target)
            print(f"JDK {major} {collector}: {done} rounds, {calls} calls counted, {checked} results right",
                  flush=True)
            check(calls > 0, f"JDK {major} {collector}: nothing was counted")
            check(refused * 4 <= done, f"JDK {major} {collector}: {refused} of {done} rounds were refused")


harness.main(test_churn)
