"""What is printed: the keys and types of every JSON line, when collection ends, and the plain text."""

import re

import harness
from harness import Run, check, equal, jitscope
from runtimes import hot_name, jdks, start_java, start_node, warm

FIXED = "Truth.fixed(int)"
SIX = "Truth.six(int,long,short,byte,char,boolean)"


class Hex:
    """A number as a string: 0x and hexadecimal digits."""


OPTIONAL_VALUE = (int, bool, str, type(None))

SCHEMA = {
    "body": {"type": str, "method": str, "raw": str, "address": Hex, "size": int, "entry": Hex, "tier": str,
             "state": str, "osr": bool, "source": str},
    "started": {"type": str, "methods": int, "bodies": int, "sites": int, "backend": str},
    "call": {"type": str, "time_ns": int, "pid": int, "tid": int, "method": str, "args": list},
    "argument": {"type": str, "value": OPTIONAL_VALUE},
    "summary": {"type": str, "method": str, "calls": int, "lost": int, "since_ns": int, "stopped_us": (int, float),
                "sites": list, "coverage": dict},
    "site": {"address": Hex, "tier": str, "backend": str},
    "exposed": {"type": str, "method": str, "symbol": str, "file": str, "offset": (int, Hex), "commands": dict},
    "commands": {"bpftrace": str, "perf_probe": str, "perf_record": str, "tracefs": str},
}
TIERS = {"bytecode", "baseline", "maglev", "turbofan", "c1", "c1-limited", "c1-full", "c2", "native", "stub"}


def is_a(value, kind):
    if isinstance(kind, tuple):
        return any(is_a(value, each) for each in kind)
    if kind is Hex:
        return isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+", value) is not None
    if kind in (int, dict, str) and isinstance(value, bool):
        return False
    return isinstance(value, kind)


def conforms(item, name):
    for key, kind in SCHEMA[name].items():
        check(key in item, f"{name}: no key {key!r} in {item}")
        check(is_a(item[key], kind), f"{name}: {key!r} is {item[key]!r}")
    for argument in item.get("args", []) if name == "call" else []:
        conforms(argument, "argument")
    for site in item.get("sites", []) if name == "summary" else []:
        conforms(site, "site")
        check(site["tier"] in TIERS, f"tier {site['tier']}")
    if name == "exposed":
        conforms(item["commands"], "commands")


def all_conform(run, *wanted):
    kinds = [each["type"] for each in run.objects()]
    for each in run.objects():
        check(each["type"] in SCHEMA, f"a line of type {each['type']}")
        conforms(each, each["type"])
    equal(sorted(set(kinds)), sorted(wanted), "types of lines")
    return kinds


def methods(target, source):
    run = jitscope("methods", "-p", target.pid, "--json")
    all_conform(run, "body")
    found = run.objects("body")
    for body in found:
        check(body["tier"] in TIERS, f"tier of {body}")
        check(body["state"] in ("in_use", "not_entrant", "dead", "unknown"), f"state of {body}")
    equal({body["source"] for body in found}, {source}, "sources")
    return found


def trace(target, pattern, limit):
    """--max-events ends it; then --count has no calls; then --duration ends it."""
    run = Run("trace", "-p", target.pid, "--json", "--stack", "--max-events", limit, pattern)
    run.started()
    target.go("go 1000")
    kinds = all_conform(run.result(limit=30), "started", "call", "summary")
    equal((kinds[0], kinds.count("call"), kinds[-1]), ("started", limit, "summary"), "order of lines")
    for call in run.objects("call"):
        check(isinstance(call["stack"], list) and isinstance(call["stack_end"], str), f"stack of {call}")
    run = Run("trace", "-p", target.pid, "--json", "--count", "--duration", "1", pattern)
    run.started()
    target.go("go 10")
    all_conform(run.result(limit=30), "started", "summary")
    target.check_sound()


def test_java():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED, SIX], "c2")
            found = methods(target, "hotspot")
            check(any(body["method"] == SIX and body["tier"] == "c2" for body in found), "the method itself")
            check(any(re.fullmatch(r"java\.lang\.String\.hashCode\(\)", body["method"]) for body in found),
                  "java.lang.String.hashCode()")
            trace(target, SIX, 10)
            run = Run("expose", "-p", target.pid, "--json", SIX)
            run.expect('{"type":"exposed"')
            run.interrupt()
            all_conform(run.result(), "exposed")
            target.check_sound()


# The caller is compiled before the trace starts, so its frame is named.
def test_java_stack():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            for _ in range(2000):
                target.go("go 20")
            warm(target, [SIX, "TruthMain.callSix(int)"], "c2", "warm 20")
            run = Run("trace", "-p", target.pid, "--json", "--stack", SIX)
            run.started()
            target.go("go 100")
            run.interrupt()
            calls = run.result().objects("call")
            equal(len(calls), 100, "calls")
            for call in calls:
                check(call["stack"] and call["stack"][0]["name"] == "TruthMain.callSix(int)", f"caller in {call}")


def test_node():
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        warm(target, [hot_name()], "turbofan")
        methods(target, "perf-map")
        trace(target, "truth.js:hot", 10)


def test_text():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED], "c2")
            text = "\n".join(jitscope("methods", "-p", target.pid, "Truth.*").out)
            check(FIXED in text and "c2" in text, f"methods: {text}")
            run = Run("trace", "-p", target.pid, "--count", FIXED)
            harness.wait_for(lambda: any(line.startswith("tracing ") for line in run.err), "the first line", 30)
            target.go("go 12345")
            run.interrupt()
            text = "\n".join(run.result().out)
            check(FIXED in text and re.search(r"\b12,?345\b", text), f"trace --count: {text}")
            run = Run("trace", "-p", target.pid, "--max-events", "3", SIX)
            harness.wait_for(lambda: any(line.startswith("tracing ") for line in run.err), "the first line", 30)
            target.go("go 100")
            lines = [line for line in run.result().out if "Truth.six" in line]
            check(len(lines) >= 3, f"trace: {run.out}")


def test_ps():
    for java in jdks().values():
        with start_java(java, "TruthMain") as target:
            lines = [line for line in jitscope("ps").out if re.search(rf"\b{target.pid}\b", line)]
            equal(len(lines), 1, "lines about the JVM in ps")


harness.main(test_java, test_java_stack, test_node, test_text, test_ps)
