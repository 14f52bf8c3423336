"""The arguments that trace shows are those that the program passed, one by one and in order."""

import harness
from harness import Run, check, equal
from runtimes import jdks, start_java, warm

CALLS = 1000
PARAMETERS = {
    "takeSix": ["int", "long", "short", "byte", "char", "boolean"],
    "takeThis": ["this", "java.lang.String", "int", "boolean", "long", "char"],
    "takeFloats": ["int", "double", "long", "float", "int"],
    "takeEight": ["int"] * 8,
}
NAMES = {name: f"Args.{name}({','.join(each for each in types if each != 'this')})"
         for name, types in PARAMETERS.items()}


def expected_value(word, kind):
    if word == "null":
        return None
    if word == "ref":
        return "ref"
    if kind == "boolean":
        return word == "true"
    return chr(int(word)) if kind == "char" else int(word)


def seen_value(argument, what):
    value = argument["value"]
    if argument["type"] in ("this", "Args", "java.lang.String"):
        check(isinstance(value, str) and value.startswith("0x") and int(value, 16) != 0,
              f"{what}: reference {argument}")
        return "ref"
    return value


def passed(target):
    """What the program says that it passed: {method: [[value]]}."""
    result = {name: [] for name in PARAMETERS}
    target.send(f"go {CALLS}")
    while True:
        words = target.expect("").split()
        if words[0] == "go":
            return result
        equal(words[0], "passed", "line of the program")
        result[words[1]].append([expected_value(word, kind) for word, kind
                                 in zip(words[2:], PARAMETERS[words[1]], strict=True)])


def compare(target, backend, what):
    run = Run("trace", "-p", target.pid, "--json", "--limit", 0, "--backend", backend, *NAMES.values())
    run.started()
    wanted = passed(target)
    run.interrupt()
    run.result()
    calls = run.objects("call")
    equal({call["pid"] for call in calls}, {target.pid}, f"{what}: pid")
    equal(len({call["tid"] for call in calls}), 1, f"{what}: threads")
    times = [call["time_ns"] for call in calls]
    check(times == sorted(times), f"{what}: events are not in the order of time")
    for name, types in PARAMETERS.items():
        mine = [call for call in calls if call["method"] == NAMES[name]]
        equal(len(mine), CALLS, f"{what}: {name}: events")
        for number, (call, values) in enumerate(zip(mine, wanted[name], strict=True)):
            where = f"{what}: {name}: call {number}"
            shown = [argument["type"] for argument in call["args"]]
            equal(shown, ["Args" if kind == "this" and shown[:1] == ["Args"] else kind for kind in types],
                  f"{where}: types")
            equal([seen_value(argument, where) for argument in call["args"]], values, where)
    summaries = run.summaries()
    equal({name: (each["calls"], each["lost"]) for name, each in summaries.items()},
          {name: (CALLS, 0) for name in NAMES.values()}, f"{what}: summary")
    # Nothing allocates enough between the calls for a collection to move the objects.
    receivers = {call["args"][0]["value"] for call in calls if call["method"] == NAMES["takeThis"]}
    strings = {call["args"][1]["value"] for call in calls if call["method"] == NAMES["takeThis"]}
    equal((len(receivers), len(strings), receivers & strings), (1, 1, set()), f"{what}: references")
    target.check_sound()


def test_arguments():
    for major, java in jdks().items():
        with start_java(java, "Args", flags=["-XX:+UseSerialGC", "-Xmn128m"],
                        dontinline="Args::take*") as target:
            warm(target, list(NAMES.values()), "c2")
            for backend in ("trampoline", "breakpoint"):
                compare(target, backend, f"JDK {major}, {backend}")


harness.main(test_arguments)
