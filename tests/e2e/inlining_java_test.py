"""Inlining and lines of HotSpot's bodies, read from outside, against three accounts of the same: what
the JVM itself prints of every nmethod it makes (PrintNMethods), javap's line tables and bytecode, and
what Inlining.java was written for."""

import collections
import html
import os
import re
import subprocess

import harness
from harness import PROGRAMS, Skip, Target, check, equal, jitscope, scratch, wait_for
from runtimes import java_classes, java_command, jdks

KEPT = [f"Inlining.kept{name}" for name in
        ("Outer", "Branches", "Catching", "Locking", "Recursive", "Virtual", "Lambda", "Loop")]
PRINTING = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintNMethods", "-XX:+LogVMOutput", "-XX:-DisplayVMOutput"]
# "inline" is stronger than "dontinline", so no glob may hold for both.
INLINED = ["leaf", "middle", "branches", "fails", "locked", "down", "area", "lambda*"]
COMPILERS = ["-XX:CompileCommand=compileonly,Inlining*::*", "-XX:CompileCommand=dontinline,Inlining*::kept*",
             *(f"-XX:CompileCommand=inline,Inlining*::{name}" for name in INLINED)]


def start(java, *flags):
    return Target(java_command(java, "Inlining", flags=[*COMPILERS, *flags]))


def objects_of(target, *words):
    return jitscope("methods", "-p", target.pid, "--json", *words, status=(0, 1)).objects()


def warm(target, tiers):
    """Until each method has a body of each of these tiers, and one loop an OSR body."""
    def settled():
        target.ask("warm 3000")
        target.ask("loop 200000")
        bodies = [each for each in objects_of(target, "Inlining.*") if each["state"] != "dead"]
        found = collections.defaultdict(set)
        for body in bodies:
            found[body["method"].split("(")[0]].add((body["tier"], body["osr"]))
        return (all(any(tier in tiers and not osr for tier, osr in found[name]) for name in KEPT)
                and any(tier in tiers and osr for tier, osr in found["Inlining.keptLoop"]))
    wait_for(settled, f"bodies by {tiers}", 120)


class Bodies:
    """The bodies of the program with their ranges: {(address, compile id): (body, ranges)}."""

    def __init__(self, target):
        self.of = {}
        for each in objects_of(target, "--ranges", "Inlining*"):
            key = int(each["address"], 16), each["version"]
            if each["type"] == "body":
                self.of[key] = each, []
            else:
                self.of[key][1].append(each)

    def __iter__(self):
        return iter(self.of.items())

    def ranges(self):
        return [each for _, ranges in self.of.values() for each in ranges]

    def count(self, tier, osr=False):
        return sum(1 for body, _ in self.of.values() if (body["tier"], body["osr"]) == (tier, osr))


# -- the JVM's own account ------------------------------------------------------------------------

PLACE = re.compile(r"; - (?:\(reexecute\) )?(\S+)::(\S+)@(-?\d+)(?: \(line (\d+)\))?")


def printed(path):
    """{(address, compile id): {place: chain}}: what stands in the JVM's print of each nmethod. Without a
    disassembler it prints in units of four bytes: the place is the unit that a range ends in. Nothing where
    the JVM prints no code without one (before JDK 17)."""
    found = {}
    key = unit = compile_id = None
    chains = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            line = html.unescape(line)
            if header := re.match(r"<print_nmethod compile_id='(\d+)'", line):
                compile_id, key = int(header[1]), None
            elif code := re.match(r" main code +\[0x([0-9a-f]+)", line):
                if compile_id is None:
                    return {}
                key, chains, unit = (int(code[1], 16), compile_id), {}, None
                found[key] = chains
            elif line.startswith("[Disassembly]"):
                raise Skip("this JVM has a disassembler, whose print is another one")
            elif key is None:
                continue
            elif address := re.match(r"  0x([0-9a-f]+): ", line):
                unit = int(address[1], 16) - key[0]
            # Comments stand in lines of their own below the address, or behind it.
            if key and unit is not None and (place := PLACE.search(line)):
                kind, method, bci, number = place.groups()
                kind = re.sub(r"[/+.]0x[0-9a-f]+", "+<hidden>", kind)
                chains.setdefault(unit, []).append((f"{kind}.{method}", int(bci), int(number or 0)))
    return found


def as_printed(ranges):
    """The same of jitscope's ranges."""
    chains = {}
    for each in ranges:
        # A unit that two ranges end in shows the first of them.
        unit = (each["end"] - 1) & ~3
        chain = [(place["method"].split("(")[0], -1 if place["bci"] is None else place["bci"],
                  place["line"]) for place in reversed(each["chain"])]
        chains.setdefault(unit, chain)
    return chains


def compare_with_the_jvm(java, major, what, *flags):
    log = scratch() / "log.xml"
    with start(java, *PRINTING, f"-XX:LogFile={log}", *flags) as target:
        warm(target, ("c2",) if "1" not in what else ("c1",))
        bodies = Bodies(target)
        target.send("quit 0")
        target.finish()
    told = printed(log)
    if not told and major < 17:
        check("<print_nmethod" in log.read_text(encoding="utf-8"), f"JDK {major} {what}: nothing in {log}")
        print(f"     JDK {major} {what}: the JVM prints no places", flush=True)
        return bodies
    check(told, f"JDK {major} {what}: nothing in {log}")
    compared = chains = deep = 0
    for key, (body, ranges) in bodies:
        check(key in told, f"JDK {major} {what}: the JVM printed no {body['method']} {key}")
        ours = as_printed(ranges)
        equal(ours, told[key], f"JDK {major} {what}: {body['method']} {body['tier']} {key[0]:#x}")
        compared += 1
        chains += len(ours)
        deep += sum(len(chain) > 1 for chain in ours.values())
    check(compared >= 8 and deep > 20, f"JDK {major} {what}: {compared} bodies, {deep} inlined places")
    print(f"     JDK {major} {what}: {compared} bodies, {chains} places, {deep} of them inlined: as the JVM "
          f"prints them", flush=True)
    return bodies


# -- javap's account ------------------------------------------------------------------------------

class Javap:
    def __init__(self, java, directory):
        self.lines = {}  # {method: [(bci, line)]}
        self.calls = collections.defaultdict(dict)  # {method: {bci: what it calls}}
        tool = os.path.join(os.path.dirname(java), "javap")
        names = sorted(str(path) for path in directory.glob("Inlining*.class"))
        text = subprocess.run([tool, "-c", "-l", "-p", *names], capture_output=True, text=True, check=True)
        self._parse(text.stdout)

    def _parse(self, text):
        kind = method = None
        for line in text.splitlines():
            if begin := re.match(r"(?:.* )?(?:class|interface) ([\w$.]+).*\{$", line):
                kind = begin[1]
            elif begin := re.match(r"  (?:.* )?([\w$.<>{}]+)\((.*)\)(?: throws .*)?;$", line):
                name = "<init>" if begin[1] == kind else begin[1]
                method = f"{kind}.{name}({begin[2].replace(' ', '')})"
            elif re.match(r"  static \{\};$", line):
                method = f"{kind}.<clinit>()"
            elif entry := re.match(r" +line (\d+): (\d+)$", line):
                self.lines.setdefault(method, []).append((int(entry[2]), int(entry[1])))
            elif call := re.match(r" +(\d+): invoke(\w+) .*// (?:Interface)?Method (\S+):", line):
                self.calls[method][int(call[1])] = call[3]
            elif call := re.match(r" +(\d+): invokedynamic ", line):
                self.calls[method][int(call[1])] = "dynamic"

    def line_of(self, method, bci):
        """As the JVM finds it."""
        best = (0, 0)
        for at, line in self.lines[method]:
            if at == bci:
                return line
            if best[0] <= at < bci:
                best = at, line
        return best[1]


def compare_with_javap(javap, bodies, what):
    lines = calls = 0
    for each in bodies.ranges():
        for inner, place in enumerate(each["chain"]):
            method = place["method"]
            if not method.startswith("Inlining") or "hidden" in method or "$$Lambda" in method:
                continue
            check(method in javap.lines, f"{what}: javap knows no {method}: {sorted(javap.lines)}")
            equal(place["file"], "Inlining.java", f"{what}: file of {method}")
            bci = 0 if place["bci"] is None else place["bci"]
            equal(place["line"], javap.line_of(method, bci), f"{what}: line of {method} at {bci}")
            lines += 1
            if inner + 1 == len(each["chain"]):
                continue
            # What is inlined there is what the bytecode calls there.
            called = javap.calls[method].get(place["bci"])
            check(called, f"{what}: no call in {method} at {bci}, where {each['chain'][inner + 1]} is inlined")
            callee = each["chain"][inner + 1]["method"].split("(")[0].rpartition(".")[2]
            check(called == "dynamic" or called.rpartition(".")[2].strip('"') == callee,
                  f"{what}: {method} at {bci} calls {called}, not {callee}")
            calls += 1
    check(lines > 60 and calls > 20, f"{what}: {lines} lines, {calls} calls compared")
    print(f"     {what}: {lines} lines and {calls} inlined calls: as javap has them", flush=True)


def test_as_the_jvm_prints_it():
    for major, java in jdks().items():
        javap = Javap(java, java_classes("Inlining"))
        for what, flags in {"tiered": (), "C1 alone": ("-XX:TieredStopAtLevel=1",),
                            "C2 alone": ("-XX:-TieredCompilation",),
                            "all places": ("-XX:+DebugNonSafepoints",)}.items():
            bodies = compare_with_the_jvm(java, major, what, *flags)
            compare_with_javap(javap, bodies, f"JDK {major} {what}")
            osr = bodies.count("c1" if what == "C1 alone" else "c2", osr=True)
            check(osr, f"JDK {major} {what}: no OSR body")
            exact = sum(each["exact"] for each in bodies.ranges())
            if what == "all places":
                # All but the first of each body.
                check(exact > len(bodies.ranges()) / 2, f"JDK {major}: {exact} exact ranges")
            else:
                equal(exact, 0, f"JDK {major} {what}: exact ranges")


# -- what the program was written for -------------------------------------------------------------

def marked_lines():
    text = (PROGRAMS / "Inlining.java").read_text().splitlines()
    return {line.split("// ")[1].strip(): number for number, line in enumerate(text, 1)
            if re.search(r"// \w+: \w+$", line)}


def copies_of(target, pattern, tier):
    """{body: {the chain's (method, line) pairs, the inlined method's lines}}"""
    found = collections.defaultdict(set)
    run = jitscope("methods", "-p", target.pid, "--json", "--inlined-by", pattern)
    for each in run.objects("inlined"):
        if each["tier"] == tier and not each["osr"]:
            chain = tuple((place["method"].split("(")[0], place["line"]) for place in each["callers"])
            found[each["into"].split("(")[0]].add((chain, tuple(each["lines"])))
            check(each["ranges"] > 0 and each["bytes"] > 0, f"empty copy {each}")
    return found


def test_inlined_by():
    line = marked_lines()
    outer, middle = "Inlining.keptOuter", "Inlining.middle"
    expected = {
        (((outer, line["outer: middle"]), (middle, line["middle: first"])), (line["leaf: kept"],)),
        (((outer, line["outer: middle"]), (middle, line["middle: second"])), (line["leaf: kept"],)),
        (((outer, line["outer: leaf"]),), (line["leaf: kept"],))}
    for major, java in jdks().items():
        for tier, flags in {"c2": ("-XX:-TieredCompilation",), "c1": ("-XX:TieredStopAtLevel=1",)}.items():
            with start(java, *flags) as target:
                warm(target, (tier,))
                found = copies_of(target, "Inlining.leaf", tier)
                # A compiler may know more lines of a copy than that of its call.
                got = {(chain, tuple(at for at in lines if at == line["leaf: kept"]))
                       for chain, lines in found[outer]}
                equal(got, expected, f"JDK {major} {tier}: copies of leaf in keptOuter")
                loop = {chain for chain, _ in found["Inlining.keptLoop"]}
                check(loop <= {(("Inlining.keptLoop", line["loop: leaf"]),)}, f"JDK {major}: {loop}")
                recursive = copies_of(target, "Inlining.down(int,int)", tier)["Inlining.keptRecursive"]
                check(recursive, f"JDK {major} {tier}: no copy of down")
                text = jitscope("methods", "-p", target.pid, "--inlined-by", "Inlining.leaf").out
                check(any(f"{outer}(int) (Inlining.java:{line['outer: leaf']}) -> Inlining.leaf(int): " in each
                          for each in text), f"JDK {major} {tier}: {text}")
                # Never inlined, and a typo.
                for pattern in ("Inlining.kept", "Inlining.leef"):
                    run = jitscope("methods", "-p", target.pid, "--inlined-by", pattern, status=1)
                    check("no inlined method matches" in run.error and "Inlining.leaf" in run.error, run.error)
                # Only of the bodies that are asked for.
                run = jitscope("methods", "-p", target.pid, "--json", "--inlined-by", "*", "Inlining.keptLo*")
                equal({each["into"].split("(")[0] for each in run.objects("inlined")} -
                      {"Inlining.keptLoop", "Inlining.keptLocking"}, set(), "bodies of the pattern")
                # Nothing was lost on the way.
                check("not readable" not in run.error and "changed while" not in run.error, run.error)


harness.main(test_as_the_jvm_prints_it, test_inlined_by)
