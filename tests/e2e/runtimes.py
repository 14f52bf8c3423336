"""The runtimes that a test runs on: JDKs that are installed, Node, and the C target."""

import glob
import os
import re
import shutil
import subprocess

from harness import PROGRAMS, Skip, Target, bodies, check, equal, scratch, wait_for

WANTED_JDKS = (17, 25)
_jdks = None
_classes = {}


def jdks():
    """{major version: java} of the wanted JDKs; says what is missing, skips when all are."""
    global _jdks
    if _jdks is None:
        found = {}
        homes = [os.environ.get("JAVA_HOME", "")] + sorted(glob.glob("/usr/lib/jvm/*"))
        for home in homes:
            java = os.path.join(home, "bin/java")
            if not home or not os.access(java, os.X_OK):
                continue
            text = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
            version = re.search(r'version "(\d+)', text)
            if version and int(version[1]) in WANTED_JDKS:
                found.setdefault(int(version[1]), os.path.realpath(java))
        _jdks = dict(sorted(found.items()))
        for major in WANTED_JDKS:
            if major not in _jdks:
                print(f"note: no JDK {major} under /usr/lib/jvm, not tested on it", flush=True)
    if not _jdks:
        raise Skip("no JDK 17 or 25 under /usr/lib/jvm")
    return _jdks


def java_classes(main, base="/tmp", others=(), release=17):
    """The directory with a compiled program."""
    if (main, base) not in _classes:
        compilers = [os.path.join(os.path.dirname(java), "javac")
                     for major, java in jdks().items() if major >= release]
        compilers = [path for path in compilers if os.access(path, os.X_OK)]
        if not compilers:
            raise Skip(f"no JDK {release} or later with a javac")
        out = scratch(base)
        sources = [str(PROGRAMS / f"{name}.java") for name in (main, *others)]
        done = subprocess.run([compilers[0], "--release", str(release), "-sourcepath", str(PROGRAMS), "-d",
                               str(out), *sources], capture_output=True, text=True)
        equal(done.returncode, 0, f"javac {main}: {done.stderr}")
        _classes[main, base] = out
    return _classes[main, base]


def java_command(java, main, flags=(), dontinline="", base="/tmp", others=(), release=17):
    command = [java, "-Xmx256m", "-XX:CompileCommand=quiet"]
    if dontinline:
        command.append(f"-XX:CompileCommand=dontinline,{dontinline}")
    return [*command, *flags, "-cp", str(java_classes(main, base, others, release)), main]


def start_java(java, main, **options):
    return Target(java_command(java, main, **options))


def start_native():
    """Native.java, on the newest JDK that can run it."""
    major, java = max(jdks().items())
    if major < 22:
        raise Skip("no JDK 22 or later: fork and seccomp inside a JVM are not tested")
    flags = ["--enable-native-access=ALL-UNNAMED", "-XX:-UseContainerSupport",
             "-XX:CompileCommand=compileonly,Truth*::*",
             "-Djava.lang.invoke.MethodHandle.CUSTOMIZE_THRESHOLD=-1"]
    return start_java(java, "Native", flags=flags, dontinline="Truth*::*", release=22)


def start_node(*flags, program="truth.js"):
    # It leaves a log in its working directory.
    return Target([node(), *flags, str(PROGRAMS / program)], cwd=scratch())


def hot_name():
    """Of the function of truth.js: V8 counts it from the bracket behind its name."""
    path = PROGRAMS / "truth.js"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("function hot("):
            return f"hot {path}:{number}:{line.index('(') + 1}"
    raise AssertionError("truth.js has no function hot")


def node():
    found = shutil.which("node")
    if not found:
        raise Skip("no node in PATH")
    return found


def jit_page():
    """The C target, and the perf map that a test writes for it."""
    binary = os.environ.get("JITSCOPE_JIT_PAGE", "")
    if not os.access(binary, os.X_OK):
        raise Skip("JITSCOPE_JIT_PAGE is not set: no C target")
    return binary


def start_jit_page(*words):
    return PageTarget([*words, jit_page()])


class PageTarget(Target):
    def __init__(self, argv):
        super().__init__(argv)
        self._page()

    def _page(self):
        self.page, self.count, self.stride = (int(word, 0) for word in self.hello[2:5])

    def exec_again(self):
        self.send("exec")
        self.hello = self.expect("ready ").split()
        self._page()

    def entry(self, k):
        return self.page + k * self.stride

    def map_text(self):
        return "".join(f"{self.entry(k):x} {8 if k % 2 == 0 else 14:x} page_f{k}\n"
                       for k in range(self.count))

    def write_map(self, text=None):
        path = self.map_path
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.map_text() if text is None else text)
        return path


def in_use(target, *patterns):
    """Bodies that calls enter: {name: [body]}."""
    found = {}
    for body in bodies(target, *patterns):
        if body["state"] in ("in_use", "unknown") and not body["osr"] and body["tier"] != "bytecode":
            found.setdefault(body["method"], []).append(body)
    return found


def warm(target, names, tier, request="warm 20000"):
    """Has the target call its methods until the last body of each is of this tier."""
    def settled():
        check(" errors 0" in target.ask(request), f"wrong results: {target.story()}")
        found = in_use(target, *names)
        tiers = {name: [body["tier"] for body in each] for name, each in found.items()}
        return len(tiers) == len(names) and all(tier in each for each in tiers.values())
    wait_for(settled, f"{names} to be compiled by {tier}", 120)
