"""Names that Java does not allow and the JVM does: Kotlin's `even (number)`, Spock's sentences, Groovy. They are seen,
found by their patterns, traced, lent to other tools, recorded and written down like any other."""

import pathlib
import re
import shutil
import signal
import subprocess

import harness
from class_file import rename_in
from harness import Child, Run, bodies, check, equal, jitscope, scratch, wait_for
from runtimes import in_use, java_classes, jdks

CLASS = "Odd (class)"
NAMES = {"odd0": "even (number)", "odd1": "a*b", "odd2": "say \"it's\" # p:q::r", "odd3": "a)b(", "odd4": "- % $ & | ~ @ + \\",
         "odd5": "\u65e5\u672c \u20ac", "odd6": "two\nlines", "odd7": "it's"}
METHODS = [f"{CLASS}.{name}(int)" for name in NAMES.values()] + [f"{CLASS}.even (number)(long)"]

_directory = None


def classes():
    global _directory
    if _directory is None:
        _directory = scratch()
        for path in java_classes("OddNames").glob("*.class"):
            shutil.copy(path, _directory)
        rename_in(_directory, "OddNames", {**NAMES, "OddNames": CLASS, "LOddNames;": f"L{CLASS};"})
    return _directory


def start(java):
    # CompileCommand's patterns know such names least of all.
    options = ["-Xmx256m", "-XX:+UnlockDiagnosticVMOptions", "-XX:-Inline"]
    return harness.Target([java, *options, "-cp", str(classes()), CLASS])


def compiled(target):
    target.go("warm 20000")
    found = in_use(target, *map(literal, METHODS))
    return len(found) == len(METHODS) and all(any(body["tier"] == "c2" for body in each) for each in found.values())


_targets = {}


def on_each_jdk(function):
    """One JVM of each for all tests: none of them leaves anything in it."""
    for major, java in jdks().items():
        if major not in _targets:
            target = _targets[major] = start(java)
            wait_for(lambda: compiled(target), "all to be compiled by C2", 120)
        function(f"JDK {major}", _targets[major])
        _targets[major].check_sound()


def test_loaded_and_not_compiled():
    """Both verbs give the same answer, and know the name when it is near."""
    def answer(what, target):
        name = f"{CLASS}.seldom"
        wanted = f"{name}(int) is loaded, but not compiled yet"
        run = jitscope("methods", "-p", target.pid, name, status=1)
        check(wanted in run.error, f"{what}: methods: {run.error}")
        run = jitscope("trace", "-p", target.pid, "--count", "--duration", "0.1", name)
        check(wanted in run.error, f"{what}: trace: {run.error}")
        run = jitscope("methods", "-p", target.pid, "seldom", status=1)
        check(wanted in run.error, f"{what}: the last part of its name: {run.error}")
        for wrong in (f"{CLASS}.Seldom", f"{CLASS}.seldm", f"com.{CLASS}.seldom"):
            run = jitscope("methods", "-p", target.pid, wrong, status=1)
            check(f"nearest: {name}" in run.error, f"{what}: {wrong}: {run.error}")
        for words in (["trace", "--count"], ["expose"]):
            run = jitscope(words[0], "-p", target.pid, *words[1:], f"{CLASS}.Seldom", status=1)
            check(f"nearest: {name}" in run.error, f"{what}: {words[0]}: {run.error}")
    on_each_jdk(answer)


def said(run, text):
    wait_for(lambda: any(text in line for line in list(run.err)), f"{text!r} from {run.story()}")


def literal(name):
    """As a user writes a name whose parentheses do not match up."""
    return f'"{name}"'


def test_all_are_seen():
    def seen(what, target):
        found = {body["method"] for body in bodies(target)}
        equal([name for name in METHODS if name not in found], [], f"{what}: methods that are not listed")
        for name in METHODS:
            equal({body["method"] for body in bodies(target, literal(name))}, {name}, f"{what}: {name}")
        run = jitscope("methods", "-p", target.pid)
        check("changed while they were read" not in run.error, f"{what}: {run.error}")
    on_each_jdk(seen)


def test_patterns():
    even = {f"{CLASS}.even (number)(int)", f"{CLASS}.even (number)(long)"}
    cases = {f"{CLASS}.even (number)": even, f"{CLASS}.even (number)(*)": even, f"{CLASS}.even (*": None,
             f"{CLASS}.even*": even, f"{CLASS}::even (number)(int)": {f"{CLASS}.even (number)(int)"},
             f"{CLASS}.even (*)": even, f"{CLASS}.even (*)(long)": {f"{CLASS}.even (number)(long)"},
             "*.even (number)": even,
             # The name as it stands, before it is taken as a pattern.
             f"{CLASS}.a*b": {f"{CLASS}.a*b(int)"}, f"{CLASS}.a*b(int)": {f"{CLASS}.a*b(int)"},
             f"{CLASS}.a**b*": {f"{CLASS}.a*b(int)", f"{CLASS}.a)b((int)"},
             f"{CLASS}.it's": {f"{CLASS}.it's(int)"}}

    def match(what, target):
        for pattern, wanted in cases.items():
            run = jitscope("methods", "-p", target.pid, "--json", pattern, status=0 if wanted else 2)
            equal({body["method"] for body in run.objects("body")}, wanted or set(), f"{what}: {pattern}")
    on_each_jdk(match)


def test_traced():
    def trace(what, target):
        words = ["trace", "-p", target.pid, "--json", "--backend", "trampoline"]
        count = Run(*words, "--count", *map(literal, METHODS))
        count.started()
        target.go("go 1000")
        count.interrupt()
        calls = {name: each["calls"] for name, each in count.result().summaries().items()}
        equal(calls, {name: 1000 for name in METHODS}, f"{what}: counted")
        lines = Run("trace", "-p", target.pid, "--max-events", "3", f"{CLASS}.even (number)(int)")
        said(lines, "tracing ")
        target.go("go 3")
        lines.result()
        shown = [line.split(" ", 2)[2] for line in lines.out[:3]]
        equal(shown, [f"{CLASS}.even (number)({i})" for i in range(3)], f"{what}: lines")
    on_each_jdk(trace)


def test_lent():
    def lend(what, target):
        run = Run("expose", "-p", target.pid, "--json", *map(literal, METHODS))
        for _ in METHODS:
            run.expect('{"type":"exposed"')
        exposed = {each["method"]: each for each in run.objects("exposed")}
        equal(sorted(exposed), sorted(METHODS), f"{what}: exposed")
        equal(len({each["symbol"] for each in exposed.values()}), len(METHODS), f"{what}: distinct symbols")
        if shutil.which("bpftrace"):
            file = exposed[METHODS[0]]["file"]
            probes = "".join(f'uprobe:{file}:"{each["symbol"]}" {{ @["{k}"] = count(); }}\n'
                             for k, each in enumerate(exposed.values()))
            with Child(["bpftrace", "-B", "line", "-e", probes + 'interval:ms:20 { printf("attached\\n"); }']) as tool:
                tool.expect("attached")
                target.go("go 1000")
                tool.signal(signal.SIGINT)
                equal(tool.finish(), 0, f"{what}: bpftrace: {tool.story()}")
                counts = sorted(re.findall(r"@\[(\d+)\]: (\d+)", "\n".join(tool.out)))
                equal(counts, sorted((str(k), "1000") for k in range(len(METHODS))), f"{what}: bpftrace's counts")
        if shutil.which("perf"):
            for name in METHODS:
                command = exposed[name]["commands"]["perf_probe"].replace(" '", " -D '", 1)
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
                equal((done.returncode, done.stdout.count(":0x")), (0, 1), f"{what}: {command}: {done.stderr}")
        run.interrupt()
        run.result()
        target.go("go 1000")
    on_each_jdk(lend)


def test_recorded():
    """By jitscope's own recorder and by a map as jcmd writes it."""
    def record(what, target):
        where = scratch()
        data = where / "perf.data"
        run = Run("record", "-p", target.pid, "-o", data, "-F", "997")
        said(run, "recording ")
        target.go("spin 700")
        run.interrupt()
        run.result()
        folded = jitscope("script", "-i", data)
        text = "\n".join(folded.out)
        for name in ("even (number)(int)", "even (number)(long)", "it's(int)"):
            check(f"{CLASS}.{name}" in text, f"{what}: {name} is not in the samples")
    on_each_jdk(record)


def test_written_down():
    """A map of ours, an image, and the JVM's own map, whose lines hold result, class and method with blanks between."""
    shown = [f"{CLASS}.even (number)(int)", f"{CLASS}.it's(int)", f"{CLASS}.{NAMES['odd5']}(int)"]

    def write(what, target):
        where = scratch()
        jitscope("map", "-p", target.pid, "-o", where / "perf.map")
        text = (where / "perf.map").read_text()
        for name in NAMES.values():
            wanted = f"L{CLASS};::" + name.replace("\n", " ")  # a line is a line
            check(any(line.endswith(wanted) for line in text.splitlines()), f"{what}: {name!r} in the map")
        jitscope("image", "build", "-p", target.pid, "-o", where / "code.elf")
        symbols = subprocess.run(["nm", where / "code.elf"], capture_output=True, encoding="utf-8", errors="replace").stdout
        for name in ("even (number)", "it's", NAMES["odd5"]):
            check(f"{CLASS}.{name}" in symbols, f"{what}: {name} in the image")
        jcmd = pathlib.Path(jdks()[int(what.split()[1])]).parent / "jcmd"
        if not jcmd.exists():
            print(f"note: no {jcmd}: its map is not read")
            return
        done = subprocess.run([jcmd, str(target.pid), "Compiler.perfmap"], capture_output=True, text=True)
        own = pathlib.Path(target.map_path)
        if not own.exists():
            print(f"note: {what} writes no map: {done.stdout} {done.stderr}")
            return
        text = own.read_bytes()
        own.rename(where / "jcmd.map")
        check(f" int {CLASS}.even (number)(int)\n".encode() in text, f"{what}: jcmd's spelling")
        run = jitscope("methods", "-p", target.pid, "--map", where / "jcmd.map", "--json", *map(literal, shown))
        equal({body["method"] for body in run.objects("body")}, set(shown), f"{what}: jcmd's map")
    on_each_jdk(write)


harness.main(test_all_are_seen, test_patterns, test_loaded_and_not_compiled, test_traced, test_lent, test_recorded, test_written_down)
