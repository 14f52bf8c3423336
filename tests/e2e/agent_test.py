"""The JVMTI agent: what it writes is a standard jitdump of every load, with lines and inlining, and the JVM
that it is in does not notice it. The dump is read here by a parser of this file's own."""

import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess

import harness
from harness import PROGRAMS, Skip, Target, check, equal, jitscope, wait_for
from isolated import Isolated
from profiles import perf_script, run_jitscope, run_perf
from runtimes import java_classes, java_command, javac, jdks

AGENT = pathlib.Path(harness.JITSCOPE).parent / "libjitscope-agent.so"
LOAD, DEBUG_INFO, CLOSE, GONE, SCOPES = 0, 2, 3, 0x6A730002, 0x6A730003

Load = collections.namedtuple("Load", "time pid tid address size index name code lines scopes")
Gone = collections.namedtuple("Gone", "time address size")
Scopes = collections.namedtuple("Scopes", "methods scopes ranges")


def need_agent():
    if not AGENT.exists():
        raise Skip(f"no agent at {AGENT}: it is not built without a JDK's headers")


class Numbers:
    """ULEB128 numbers and texts of a SCOPES record."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at].decode()


def read_scopes(payload):
    equal(payload[0], 1, "version of SCOPES")
    read = Numbers(payload[1:])
    methods = [(read.text(), read.text()) for _ in range(read.number())]
    scopes = [(read.number() - 1, read.number(), read.number() - 1, read.number())
              for _ in range(read.number())]
    ranges, end = [], 0
    for _ in range(read.number()):
        begin = end + read.number()
        end = begin + read.number()
        scope, exact = divmod(read.number(), 2)
        ranges.append((begin, end, scope, bool(exact)))
    equal(read.at, len(payload) - 1, "bytes of SCOPES")
    return Scopes(methods, scopes, ranges)


def read_lines(body):
    address, count = struct.unpack_from("<QQ", body)
    at, lines = 16, []
    for _ in range(count):
        place, line, _ = struct.unpack_from("<QII", body, at)
        end = body.index(b"\0", at + 16)
        lines.append((place, line, body[at + 16:end].decode()))
        at = end + 1
    equal(at, len(body), "bytes of DEBUG_INFO")
    return address, lines


class Dump:
    """Everything in a dump; fails for a record that is not whole."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        magic, version, header, machine, _, self.pid, _, flags = struct.unpack_from("<IIIIIIQQ", data)
        equal((magic, version, header, machine, flags), (0x4A695444, 1, 40, 62, 0), f"header of {path}")
        self.events, self.closed = [], False
        at, lines, scopes = header, {}, {}
        while at < len(data):
            check(not self.closed, f"{path}: a record behind CLOSE")
            kind, size, time = struct.unpack_from("<IIQ", data, at)
            check(size >= 16 and at + size <= len(data), f"{path}: record of {size} bytes at {at}")
            body = data[at + 16:at + size]
            if kind == DEBUG_INFO:
                address, entries = read_lines(body)
                lines[address] = entries
            elif kind == SCOPES:
                scopes[struct.unpack_from("<Q", body)[0]] = read_scopes(body[8:])
            elif kind == LOAD:
                pid, tid, vma, address, length, index = struct.unpack_from("<IIQQQQ", body)
                name, _, code = body[40:].partition(b"\0")
                equal((pid, vma, len(code)), (self.pid, address, length), f"{path}: a LOAD")
                self.events.append(Load(time, pid, tid, address, length, index, name.decode(), code,
                                        lines.pop(address, []), scopes.pop(address, None)))
            elif kind == GONE:
                self.events.append(Gone(time, *struct.unpack_from("<QQ", body)))
            else:
                equal(kind, CLOSE, f"{path}: kind of record")
                self.closed = True
            at += size
        equal((lines, scopes), ({}, {}), f"{path}: records without their LOAD")
        self.loads = [each for each in self.events if isinstance(each, Load)]
        self.gone = [each for each in self.events if isinstance(each, Gone)]
        indexes = [each.index for each in self.loads]
        equal(len(set(indexes)), len(indexes), f"{path}: different indexes")

    def named(self, name):
        found = [each for each in self.loads if each.name == name]
        check(found, f"{name} is not in the dump of {len(self.loads)} loads")
        return found


def marked():
    """{mark: line} of the program."""
    found = {}
    for name in ("AgentLoads", "AgentLines"):
        for number, line in enumerate((PROGRAMS / f"{name}.java").read_text().splitlines(), 1):
            match = re.search(r"// here: (\w+)", line)
            if match:
                found[match[1]] = number
    return found


_classes = None


def classes():
    """AgentLoads and the two classes that have less debug information."""
    global _classes
    if _classes is None:
        out = java_classes("AgentLoads", others=("AgentBare", "AgentLines"))
        for option, name in (("-g:none", "AgentBare"), ("-g:lines", "AgentLines")):
            done = subprocess.run([*javac(), option, "-d", str(out), str(PROGRAMS / f"{name}.java")],
                                  capture_output=True, text=True)
            equal(done.returncode, 0, f"javac {name}: {done.stderr}")
        _classes = out
    return _classes


def command(java, *flags, agent=None):
    agent = [f"-agentpath:{AGENT}" + (f"=dir={agent}" if agent else "")] if agent is not None else []
    return [java, "-Xmx256m", *flags, *agent, "-cp", str(classes()), "AgentLoads"]


def dump_of(target, folder):
    return pathlib.Path(folder) / f"jit-{target.pid}.dump"


def method_at(scopes, offset):
    """Names and lines of an offset, leaf first."""
    for begin, end, scope, _ in scopes.ranges:
        if begin <= offset < end:
            found = []
            while scope >= 0:
                scope, method, _, line = scopes.scopes[scope]
                found.append((scopes.methods[method][0], line))
            return found
    return []


MIDDLE, LEAF = "AgentLoads.middle(int[],int)", "AgentLoads.leaf(int)"
GO = "AgentLoads.go(int)"


def check_debug_info(dump, exact):
    """`exact`: the agent was there from the start, so that HotSpot tells the places between safepoints too."""
    lines = marked()
    for load in dump.loads:
        if not load.scopes:  # the JVM knows no place in it
            continue
        equal(load.scopes.methods[0][0], load.name, "the first method of SCOPES")
        wanted = {leaf[1] for begin, _, _, _ in load.scopes.ranges
                  for leaf in method_at(load.scopes, begin)[:1] if leaf[1]}
        equal({line for _, line, _ in load.lines if line}, wanted, f"lines of {load.name}")
        check(all(load.address <= place < load.address + load.size for place, _, _ in load.lines),
              f"places of {load.name}")
        equal({each[3] for each in load.scopes.ranges}, {exact}, f"exactness of {load.name}")
    middle = [load for load in dump.named(MIDDLE) if load.scopes]
    equal({file for load in middle for _, _, file in load.lines}, {"AgentLoads.java"}, "files")
    own = range(lines["leaf"], lines["store"] + 5)
    check(all(line in own for load in middle for _, line, _ in load.lines if line), "lines of middle")
    # A class without SourceFile keeps its name, and its lines if it has them.
    bare, numbered = dump.named("AgentBare.work(int)"), dump.named("AgentLines.work(int)")
    equal({each for load in bare for each in load.lines}, set(), "lines of AgentBare")
    equal({load.scopes.methods[0][1] for load in bare + numbered if load.scopes}, {""}, "files of these classes")
    found = {line for load in numbered for _, line, _ in load.lines}
    own = range(lines["lines"] - 3, lines["lines"] + 3)
    check(found and all(line in own for line in found if line), f"lines of AgentLines: {found}")
    if exact:
        check(lines["lines"] in found, f"lines of AgentLines: {found}")
        chains = [method_at(load.scopes, begin)[:2] for load in middle for begin, _, _, _ in load.scopes.ranges]
        check([(LEAF, lines["leaf"]), (MIDDLE, lines["middle"])] in chains, f"leaf inlined in middle: {chains}")
    library = [load for load in dump.loads if load.name.startswith("java.lang.String.") and load.scopes]
    check(library, "java.lang.String")
    equal({load.scopes.methods[0][1] for load in library}, {"java/lang/String.java"}, "its file")


def test_from_start():
    need_agent()
    lines = marked()
    for major, java in jdks().items():
        folder = harness.scratch()
        data = folder / "perf.data"
        if not shutil.which("perf"):
            raise Skip("no perf in PATH")
        done = subprocess.run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "5000", "-o", str(data),
                               "--", *command(java, agent=folder)], input="go 300000\n" * 3, capture_output=True,
                              text=True)
        if "No permission" in done.stderr:
            raise Skip("perf may not record here")
        equal((done.returncode, done.stdout.count("errors 0")), (0, 3), f"the program: {done.stderr[-500:]}")
        check("jitscope agent:" not in done.stderr, done.stderr)
        path, = folder.glob("jit-*.dump")
        equal(stat.S_IMODE(path.stat().st_mode), 0o600, "mode of the dump")
        dump = Dump(path)
        check(dump.closed, "CLOSE at the end")
        check_debug_info(dump, exact=True)
        check(any("call_stub" in each.name for each in dump.loads), "stubs")

        # perf takes it.
        injected = folder / "injected.data"
        run_perf("inject", "--jit", "-i", data, "-o", injected)
        told = [sample for sample in perf_script(injected) if sample.frames and "/jitted-" in sample.frames[0].dso]
        names = collections.Counter(sample.frames[0].symbol for sample in told)
        check(names[MIDDLE] + names[GO] > 100, f"perf's names: {names.most_common(5)}")
        files = {sample.frames[0].dso for sample in told if sample.frames[0].symbol == MIDDLE}
        perf_lines = {int(line) for file in files for line in re.findall(
            r"^AgentLoads\.java +(\d+) +0x", run_tool("objdump", "--dwarf=decodedline", file), re.M)}
        check({lines["store"], lines["leaf"]} <= perf_lines, f"lines in {files}: {perf_lines}")
        # jitscope too, and names the same.
        named = collections.Counter(re.findall(r"(AgentLoads\.\w+\([^)]*\))\+", run_jitscope(
            "script", "-i", data, "--no-inline").stdout))
        # It also knows code that ran a moment before the JVM told of it.
        check(named[MIDDLE] >= names[MIDDLE] and named[GO] >= names[GO], f"{named} as jitscope, {names} as perf has it")
        text = run_jitscope("script", "-i", data, "--lines").stdout
        check(f"AgentLoads.java:{lines['store']}" in text or f"AgentLoads.java:{lines['leaf']}" in text,
              f"jitscope's lines: {text[:2000]}")
        tiers = set(re.findall(r'"method":"AgentLoads[^"]*".*?"tier":"(\w+)"',
                               run_jitscope("script", "-i", data, "--json").stdout))
        check("stub" not in tiers, f"tiers of Java methods: {tiers}")
        print(f"     JDK {major}: {len(dump.loads)} loads, {len(told)} JIT samples named by perf", flush=True)


def run_tool(*words):
    if not shutil.which(words[0]):
        raise Skip(f"no {words[0]} in PATH")
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def load_agent(target, *words, status=0):
    return jitscope("agent", "load", "-p", target.pid, *words, status=status)


def test_late_attach():
    need_agent()
    for java in jdks().values():
        folder = harness.scratch()
        with Target(command(java)) as target:
            target.go("go 300000")
            run = load_agent(target, "--dir", folder)
            equal(run.out, [str(dump_of(target, folder))], "what was printed")
            check_debug_info(Dump(dump_of(target, folder)), exact=False)
            again = load_agent(target, "--dir", harness.scratch())
            check("already" in again.error, again.error)
            equal(again.out, run.out, "the dump of a second load")
            # A recording that begins later finds it by its mapping.
            data = folder / "perf.data"
            target.send("go 30000000")
            run_perf("record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "2000", "-p", target.pid, "-o", data,
                     "--", "sleep", "0.5")
            check(" errors 0" in target.expect("go ", 120), target.story())
            text = run_jitscope("script", "-i", data).stdout
            check("AgentLoads." in text, f"names in {text[:1000]}")
            target.go("go 1000")
            target.check_sound()
            target.process.stdin.close()
            equal(target.finish(), 0, "exit status of the JVM")
        check(Dump(dump_of(target, folder)).closed, "CLOSE at the end")


def start_churn(java, *flags, **options):
    words = ["-Xss512k", "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions",
             "-XX:-UseDynamicNumberOfCompilerThreads", "-XX:CICompilerCount=8", *flags]
    return Target(java_command(java, "Churn", flags=words, others=("ChurnUnit", "ChurnShape")), **options)


def check_gone(dump):
    """What is gone was there, with the size that it had."""
    alive = {}
    for event in dump.events:
        if isinstance(event, Load):
            alive[event.address] = event.size
        else:
            equal(alive.pop(event.address, None), event.size, f"size of what is gone at {event.address:#x}")


def test_churn():
    """Classes and code come and go, eight threads compile, and the agent is loaded meanwhile or from the start."""
    need_agent()
    for java in jdks().values():
        for late in (False, True):
            folder = harness.scratch()
            flags = [] if late else [f"-agentpath:{AGENT}=dir={folder}"]
            with start_churn(java, *flags) as target:
                if late:
                    wait_for(lambda: int(target.ask("report").split()[5]) > 200, "some churn", 120)
                    load_agent(target, "--dir", folder)
                path = dump_of(target, folder)
                wait_for(lambda: GONE.to_bytes(4, "little") in path.read_bytes(), "an unload", 120)
                target.check_sound()
                target.go("report")
                target.signal(signal.SIGKILL)  # nothing that was told is lost, and no record is cut
                target.finish()
            dump = Dump(path)
            check(dump.gone and not dump.closed, f"{len(dump.gone)} gone of {len(dump.loads)}")
            check_gone(dump)
            check(any("ChurnUnit" in each.name for each in dump.loads), "a class that is thrown away")
            hidden = {each.name for each in dump.loads if "hidden" in each.name}
            check(all("+<hidden>." in name for name in hidden), f"{sorted(hidden)[:5]}")
            check(not any(re.search(r"[.+/]0x[0-9a-f]{6}", each.name) for each in dump.loads),
                  "addresses in names")


def test_default_folder_and_old_dumps():
    need_agent()
    java = max(jdks().items())[1]
    folder = pathlib.Path(f"/tmp/jitscope-{os.geteuid()}")
    environment = {name: value for name, value in os.environ.items() if name != "JITDUMPDIR"}
    with Target(command(java, agent=""), env=environment) as target:
        try:
            path = dump_of(target, folder)
            equal(stat.S_IMODE(folder.stat().st_mode), 0o700, "mode of the folder")
            check(path.exists(), f"no {path}")
        finally:
            target.kill()
            path.unlink(missing_ok=True)
    folder = harness.scratch()
    with Target(command(java, agent=""), env={**environment, "JITDUMPDIR": str(folder / "made")}) as target:
        check(dump_of(target, folder / "made").exists(), "JITDUMPDIR")


def test_full_disk():
    need_agent()
    for java in jdks().values():
        folder = harness.scratch()

        def bound():
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        with Target(command(java, "-XX:-UsePerfData", agent=folder), preexec_fn=bound) as target:
            target.go("go 300000")
            path = dump_of(target, folder)
            wait_for(lambda: any("jitscope agent:" in line for line in target.err), "a word about it")
            target.go("go 300000")
            target.check_sound()
            equal(len([line for line in target.err if "jitscope agent:" in line]), 1, f"lines: {target.err}")
            check(Dump(path).loads, "what was written can be read")


def test_refusals():
    need_agent()
    for java in jdks().values():
        folder = harness.scratch()
        with Target(command(java, "-XX:-EnableDynamicAgentLoading")) as target:
            run = load_agent(target, status=3)
            check("-XX:+EnableDynamicAgentLoading" in run.error and "-agentpath:" in run.error, run.error)
            target.go("go 1000")
        with Target(command(java)) as target:
            run = load_agent(target, "--dir", folder / "not" / "there", status=3)
            check("--dir" in run.error, run.error)
            run = load_agent(target, "--agent", "/etc/passwd", status=3)
            check("did not load" in run.error or "refused" in run.error, run.error)
            load_agent(target, "--agent", folder / "missing.so", status=(1, 3))
            # And then it still can.
            equal(load_agent(target, "--dir", folder).out, [str(dump_of(target, folder))], "the dump")
            target.go("go 1000")
            target.check_sound()
        # An agent that cannot write keeps no JVM from starting.
        for option in ("=nonsense", f"=dir={folder / 'not' / 'there'}"):
            with Target([java, f"-agentpath:{AGENT}{option}", "-cp", str(classes()), "AgentLoads"]) as target:
                target.go("go 1000")
                check(any("jitscope agent:" in line for line in target.err), target.story())
    with Target(["sh", "-c", "echo ready 0; read line"]) as target:
        check("not a HotSpot JVM" in load_agent(target, status=3).error, "no JVM")
    jitscope("agent", "load", "-p", "999999999", status=1)
    jitscope("agent", "load", status=2)
    jitscope("agent", status=2)


def test_other_namespaces():
    need_agent()
    for java in jdks().values():
        # Classes that it sees, and a /tmp of its own.
        words = java_command(java, "TruthMain", base="/var/tmp")
        with Isolated(words) as target:
            run = load_agent(target)
            equal(run.out, [f"/tmp/jitscope-{os.geteuid()}/jit-1.dump"], "the dump")
            check("copied" in run.error, run.error)
            root = pathlib.Path(f"/proc/{target.pid}/root")
            left = [path.name for path in (root / "tmp").iterdir() if "agent" in path.name]
            equal(left, [], "what is left in its /tmp")
            target.go("go 20000")
            dump = Dump(str(root) + run.out[0])
            equal(dump.pid, 1, "pid in the dump")
            check(any(each.name.startswith("Truth") for each in dump.loads), "names")
            target.check_sound()


def test_library():
    """It loads into JVMs that have other C++ libraries, and shows them nothing but its entry points."""
    need_agent()
    equal(jitscope("agent", "path").out, [str(AGENT.resolve())], "the path")

    def readelf(*words):
        return run_tool("readelf", "-W", *words, str(AGENT))
    symbols = [line.split() for line in readelf("--dyn-syms").splitlines() if re.match(r"\s*\d+:", line)]
    defined = {words[7] for words in symbols if len(words) > 7 and words[6] != "UND"}
    equal(defined, {"Agent_OnLoad", "Agent_OnAttach", "Agent_OnUnload"}, "symbols")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d")))
    check(needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, f"libraries: {needed}")
    versions = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([\d.]+)", readelf("--dyn-syms"))}
    check(max(versions) <= (2, 28), f"needs glibc {max(versions)}")


harness.main(test_library, test_from_start, test_late_attach, test_churn, test_default_folder_and_old_dumps,
             test_full_disk, test_refusals, test_other_namespaces)
