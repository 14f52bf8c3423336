"""The runtimes that a test runs on: JDKs that are installed, Node, and the C target.

JITSCOPE_JDKS adds JDKs that lie elsewhere, and leaves out others: "8=/opt/jdk8/bin/java,26=/root/bin/java-26,17="
runs on 8, 26 and 25 (an entry without a path is one to leave out). A path may be that of a script that runs java in
a container or chroot, where it sees this machine's /tmp and /var/tmp and ends up with the pid of the script. Programs
are then compiled for the oldest of them. JDK 8 leaves the smallest methods to C1, where some tests wait for C2: there a
script that adds -XX:-TieredCompilation helps.
"""

import glob
import os
import re
import shutil
import subprocess

from harness import PROGRAMS, Skip, Target, bodies, check, equal, scratch, wait_for

WANTED_JDKS = (17, 25)
_jdks = None
_installed = None
_classes = {}


def _installed_jdks():
    """{major version: java} of all JDKs under /usr/lib/jvm and of JAVA_HOME."""
    global _installed
    if _installed is None:
        _installed = {}
        homes = [os.environ.get("JAVA_HOME", "")] + sorted(glob.glob("/usr/lib/jvm/*"))
        for home in homes:
            java = os.path.join(home, "bin/java")
            if not home or not os.access(java, os.X_OK):
                continue
            text = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
            version = re.search(r'version "(?:1\.)?(\d+)', text)
            if version:
                _installed.setdefault(int(version[1]), os.path.realpath(java))
    return _installed


def jdks():
    """{major version: java} of the wanted JDKs; says what is missing, skips when all are."""
    global _jdks
    if _jdks is None:
        found = {major: java for major, java in _installed_jdks().items() if major in WANTED_JDKS}
        named = dict(word.split("=", 1) for word in os.environ.get("JITSCOPE_JDKS", "").split(",") if word)
        found.update((int(major), java) for major, java in named.items())
        _jdks = {major: java for major, java in sorted(found.items()) if java}
        for major in WANTED_JDKS:
            if major not in found:
                print(f"note: no JDK {major} under /usr/lib/jvm, not tested on it", flush=True)
    if not _jdks:
        raise Skip("no JDK 17 or 25 under /usr/lib/jvm")
    return _jdks


def javac(release=17):
    """The command that compiles for this release; for 17, for the oldest JDK that is tested on."""
    compilers = [os.path.join(os.path.dirname(java), "javac")
                 for major, java in sorted(_installed_jdks().items()) if major >= release]
    compilers = [path for path in compilers if os.access(path, os.X_OK)]
    if not compilers:
        raise Skip(f"no JDK {release} or later with a javac")
    return [compilers[0], "--release", str(min(release, *jdks()) if release == 17 else release)]


def java_classes(main, base="/tmp", others=(), release=17):
    """The directory with a compiled program."""
    if (main, base) not in _classes:
        compiler = javac(release)
        out = scratch(base)
        sources = [str(PROGRAMS / f"{name}.java") for name in (main, *others)]
        done = subprocess.run([*compiler, "-sourcepath", str(PROGRAMS), "-d", str(out), *sources],
                              capture_output=True, text=True)
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


def node_major():
    return int(subprocess.run([node(), "--version"], capture_output=True, text=True, check=True).stdout[1:].split(".")[0])


def hot_name():
    """Of the function of truth.js: V8 counts it from the bracket behind its name (Node 18 gives no column)."""
    path = PROGRAMS / "truth.js"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("function hot("):
            return f"hot {path}:{number}" + (f":{line.index('(') + 1}" if node_major() >= 20 else "")
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


PAGE_F0 = "page_f0 /page.js:1:1"  # of a FixedPage


class FixedPage(PageTarget):
    """jit_page in the guise of a runtime whose code stays where it is, so that it gets trampolines."""

    def __init__(self, *words, base="/tmp", **options):
        program = scratch(base) / "node"
        shutil.copy(jit_page(), program)
        Target.__init__(self, [*words, program, "--perf-basic-prof"], **options)
        self._page()

    def map_text(self):
        return "".join(f"{self.entry(k):x} {8 if k % 2 == 0 else 14:x} JS:*page_f{k} /page.js:{k + 1}:1\n"
                       for k in range(self.count))


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
