"""Fifty methods named by one glob, called by four threads at once: every count is exact."""

import harness
from harness import Run, equal
from runtimes import jdks, start_java, warm

THREADS = 4
BASE = 5_000


def test_fifty_by_glob():
    names = [f"Fifty.m{k}(int)" for k in range(50)]
    for major, java in jdks().items():
        with start_java(java, "FiftyMain", dontinline="Fifty::*") as target:
            warm(target, names, "c2")
            run = Run("trace", "-p", target.pid, "--count", "--json", "Fifty.m*")
            started = run.started()
            equal((started["methods"], started["sites"], started["backend"]), (50, 50, "trampoline"),
                  f"JDK {major}: started")
            target.go(f"go {BASE}")
            run.interrupt()
            summaries = run.result().summaries()
            equal({name: (each["calls"], each["lost"]) for name, each in summaries.items()},
                  {name: (THREADS * (BASE + k), 0) for k, name in enumerate(names)}, f"JDK {major}")
            target.go("go 100")
            target.check_sound()


harness.main(test_fifty_by_glob)
