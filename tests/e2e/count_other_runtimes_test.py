"""Counts of calls of Erlang, Mono and PHP functions by the names that their perf maps give them: exact, by
breakpoints, and no other backend. What a map has that no call enters is refused with the reason.
"""

import functools

import harness
from harness import Run, Skip, check, equal, jitscope, wait_for
from other_runtimes import erlang, mono, php, remove_traces, start

CALLS = 20_000


def compiled(target, pattern, grow=None):
    """Waits until its map has the function: compiled at the first calls, written when the runtime likes."""
    def there():
        if grow:
            target.go(grow)
        return harness.bodies(target, pattern)
    return wait_for(there, f"{pattern} in the perf map")


def count(make, warm, grow=None):
    runtime = make()
    with start(runtime) as target:
        try:
            target.go(warm)
            compiled(target, runtime.counted, grow)
            refused = jitscope("trace", "-p", target.pid, "--count", "--backend", "trampoline", "--duration", "5",
                               runtime.counted, status=(1, 3), limit=30)
            check("breakpoint" in refused.error or "trampoline" in refused.error,
                  f"{runtime.label}: no trampoline, and why: {refused.error}")
            run = Run("trace", "-p", target.pid, "--count", "--json", runtime.counted)
            started = run.started()
            equal((started["methods"], started["bodies"], started["sites"], started["backend"]),
                  (1, 1, 1, "breakpoint"), f"{runtime.label}: methods, bodies, sites, backend")
            target.go(f"call {CALLS}")
            run.interrupt()
            summaries = run.result().summaries()
            equal(list(summaries), [runtime.counted], f"{runtime.label}: methods")
            summary = summaries[runtime.counted]
            print(f"     {runtime.label}: {summary['calls']} of {CALLS} calls counted, {summary['lost']} lost")
            equal((summary["calls"], summary["lost"]), (CALLS, 0), f"{runtime.label}: calls, lost")
            target.go("call 1000")
            target.check_sound()
        finally:
            remove_traces(target.pid)


def test_erlang():
    count(functools.partial(erlang, "map"), "call 100")


def test_mono():
    count(mono, "call 100", grow="fill 50")


def test_php():
    count(functools.partial(php, "function", "0x10"), "call 100")


# One name for what lies before a function's entry and one for its code: a pattern means the code alone.
def test_erlang_pattern():
    runtime = erlang("map")
    with start(runtime) as target:
        try:
            target.go("call 100")
            compiled(target, runtime.counted)
            run = Run("trace", "-p", target.pid, "--count", "--json", "hot.counted*")
            equal(run.started()["methods"], 1, "methods of hot.counted*")
            target.go("call 10")
            run.interrupt()
            equal({name: each["calls"] for name, each in run.result().summaries().items()}, {runtime.counted: 10},
                  "calls")
        finally:
            remove_traces(target.pid)


# A trace goes through several functions, from anywhere in a loop: its entry is no call.
def test_php_traces_are_refused():
    runtime = php("tracing", "0x10")
    with start(runtime) as target:
        try:
            target.go("run 200")
            pattern = "TRACE-*Hot::first*"
            compiled(target, pattern)
            refused = jitscope("trace", "-p", target.pid, "--count", "--duration", "5", pattern, status=(1, 3),
                               limit=30)
            text = refused.error + "\n".join(refused.out)
            check("a trace through several functions" in text, f"no reason: {text}")
            target.check_sound()
        finally:
            remove_traces(target.pid)


if __name__ == "__main__":
    harness.main(test_erlang, test_mono, test_php, test_erlang_pattern, test_php_traces_are_refused)
