"""One process whose every name is written for the terminal of whoever looks: argv[0], comm, its program's path,
its perf map, its working directory. No verb lets anything through that a terminal would obey, that is not seen, or
that turns what is seen around; and no name makes a line of its own.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import unicodedata

import harness
from harness import JITSCOPE, TIME_FACTOR, check, scratch
from profiles import perf_environment
from runtimes import jit_page, node

# Clears the screen and retitles it in all ways: ESC, U+009B, a bare 0x9b, then turned around, hidden, a line forged.
EVIL = (b"\x1b[2J\x1b]0;own\x07" b"\xc2\x9b31m" b"\x9b31m" b"\xe2\x80\xaetxt.exe\xe2\x81\xa6" b"\xe2\x80\x8b\xef\xbb\xbf"
        b"\xe2\x80\xa8\xc2\x85\x7f\x08\r")
LINE = b"\nFORGED 1\n"
GOOD = "日本é😀".encode()
LIMIT = 60


def forbidden(out):
    """Why this must not reach a terminal, "" when it may. Knows nothing of how jitscope decides."""
    try:
        text = out.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8: {out[max(0, error.start - 60):error.end + 20]!r}"
    for at, char in enumerate(text):
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp"):
            return f"U+{ord(char):04X} in {text[max(0, at - 60):at + 20]!r}"
    forged = [line for line in text.split("\n") if line.startswith("FORGED")]
    return f"a line of the stranger's own: {forged[0]!r}" if forged else ""


class Hostile:
    """A program under such a name, started in a folder of such a name."""

    def __init__(self, name, source, *words):
        self.directory = os.path.join(bytes(scratch("/var/tmp")), b"d" + EVIL + LINE)
        os.mkdir(self.directory)
        program = os.path.join(self.directory, name)
        shutil.copy(source, program)
        words = [word if word is not HERE else program for word in words]
        executable = words.pop(0)
        self.process = subprocess.Popen([b"argv" + EVIL + LINE + GOOD, *words, b"word" + LINE], executable=executable,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory)
        self.hello = self.process.stdout.readline().split()
        check(self.hello[:1] == [b"ready"], f"the target says {self.hello}")
        self.map = f"/tmp/perf-{self.process.pid}.map"

    @property
    def pid(self):
        return str(self.process.pid)

    def busy(self, calls):
        self.process.stdin.write(b"go %d\n" % calls)
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        os.unlink(self.map)


HERE = object()  # stands for the program's own path


def hostile_page():
    """tests/programs/jit_page.c, with a perf map to match."""
    target = Hostile(b"\x1b[1m\x9b\xe2\x80\xae\r\nFORGED", jit_page(), HERE)
    page, count, stride = (int(word, 0) for word in target.hello[2:5])
    with open(target.map, "wb") as file:
        for k in range(count):
            name = [b"page_f0" + EVIL + GOOD, b"\xc2", b"\x9b1;31m", b"\xe2\x80\xaea;b c", b"T::m(I)V\x1b[0m", b"\r#"]
            file.write(b"%x %x %s\n" % (page + k * stride, 8 if k % 2 == 0 else 14, name[k % len(name)]))
    return target


def hostile_node():
    """tests/programs/hostile.js: methods of Node can be exposed."""
    source = harness.PROGRAMS / "hostile.js"
    # Node finds no program by a path that is no UTF-8.
    return Hostile(b"copy", source, node(), "--perf-basic-prof", "--no-turbo-inlining", source)


def run(*words, status=(0,), wanted=b"", until=b""):
    """jitscope, with both outputs as bytes; both must be harmless. Interrupted when `until` was printed."""
    argv = [JITSCOPE, *words]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=perf_environment()) as child:
        out = b""
        try:
            for line in iter(child.stdout.readline, b"") if until else ():
                out += line
                if until in line:
                    child.send_signal(signal.SIGINT)
                    break
            more, err = child.communicate(timeout=LIMIT * TIME_FACTOR)
        except subprocess.TimeoutExpired:
            child.kill()
            raise harness.Failure(f"{argv} does not end") from None
    out += more
    check(child.returncode in status, f"{argv}: status {child.returncode}: {err[-600:]}")
    for name, text in (("stdout", out), ("stderr", err)):
        why = forbidden(text)
        check(not why, f"{words[:3]}: {name}: {why}")
    check(wanted in out + err, f"{words[:3]}: no {wanted!r} in {out[-600:]} {err[-300:]}")
    return out, err


def lives(target):
    pid = target.pid
    escaped = rb"\x1b[2J"
    run("ps", wanted=escaped)
    run("ps", "--json", wanted=b"\\u001b[2J")
    run("methods", "-p", pid, wanted=escaped)
    out, _ = run("methods", "-p", pid, "--json", wanted="日本é😀".encode())
    check(b"\\u202e" in out, f"JSON's own escapes: {out[:800]}")
    run("methods", "-p", pid, b"nothing" + EVIL, status=(1,))
    run("doctor", "-p", pid)
    run("map", "-p", pid, "-o", "-", wanted=escaped)
    run("map", "-p", pid, "-o", os.path.join(target.directory, b"of.map"))
    with open(os.path.join(target.directory, b"of.map"), "rb") as file:
        why = forbidden(file.read())
        check(not why, f"the map of map -o: {why}")
    run("image", "build", "-p", pid, "-o", os.path.join(target.directory, b"image"))


def probes(target, pattern, status=(0,)):
    pid = target.pid
    for words in (("--count", "--duration", "0.3"), ("--duration", "1"), ("--duration", "1", "--stack"),
                  ("--duration", "1", "--json", "--stack")):
        target.busy(300_000)
        run("trace", "-p", pid, *words, pattern, status=status)
    run("trace", "-p", pid, "--duration", "0.1", b"none" + EVIL, status=(0, 1))


def exposes(target):
    text, _ = run("expose", "-p", target.pid, "hot*", until=b"tracefs", wanted=b"bpftrace")
    run("expose", "-p", target.pid, "--json", "hot*", until=b"exposed")
    run("expose", "-p", target.pid, "--undo")
    # What is to be copied into a shell is one command of plain words there.
    commands = 0
    for line in text.decode().splitlines():
        word, _, command = line.strip().partition(" ")
        if word in ("bpftrace", "perf", "tracefs"):
            commands += 1
            done = subprocess.run(["sh", "-n", "-c", f"{word} {command}"], capture_output=True, check=False)
            check(done.returncode == 0 and command.isascii() and command.isprintable(), f"the command {command!r}")
    check(commands >= 2, f"commands: {text}")


def recording(target):
    data = os.path.join(target.directory, b"perf.data")
    target.busy(400_000_000)
    run("record", "-p", target.pid, "-o", data, "--duration", "1", "-e", "cpu-clock")
    target.process.kill()
    escaped = rb"\x1b"
    run("script", "-i", data, wanted=escaped)
    run("script", "-i", data, "--json", "--lines", wanted=b"\\u001b")
    run("report", "-i", data, wanted=escaped)
    run("report", "-i", data, "-g", "-s", "process,thread,dso,method", wanted=escaped)
    run("report", "-i", data, "--json", wanted=b"\\u001b")
    run("report", "-i", data, "--callers", "page_f0*")
    run("doctor", "-i", data)
    run("doctor", "-i", data, "--json")
    run("flame", "-i", data, "-o", "-.folded", wanted=escaped)
    for ending in (b"x.html", b"x.folded", b"x.speedscope.json", b"x.firefox.json", b"x.pb.gz"):
        run("flame", "-i", data, "-o", os.path.join(target.directory, ending))
    page = pathlib.Path(os.fsdecode(os.path.join(target.directory, b"x.html"))).read_bytes()
    why = forbidden(page)
    check(not why, f"the page: {why}")
    names = re.search(rb'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    check(names and rb"\u001b" in names.group(1), "names of the page are JSON's strings")
    run("inject", "-i", data, "-o", os.path.join(target.directory, b"inj.data"))
    run("image", "build", "-i", data, "-o", os.path.join(target.directory, b"rec.elf"), status=(0, 1))
    store = os.path.join(target.directory, b"store")
    run("image", "install", "--debugdir", store, os.path.join(target.directory, b"image"))
    run("image", "list", "--debugdir", store)
    run("image", "remove", "--debugdir", store, "all")


def messages(target):
    """What was typed, or a shell's wildcard found, comes back in messages."""
    name = EVIL + LINE
    for words in ((name,), ("ps", name), ("ps", b"--" + name), ("trace", "-p", name, "x"), ("report", b"-s" + name),
                  ("script", "-i", name), ("flame", "-o", name), ("flame", "-i", name), ("doctor", "-i", name),
                  ("inject", "-i", name, "-o", b"x" + name), ("map", "-p", target.pid, "-o", b"/none/" + name),
                  ("image", "build", "--jitdump", name, "-o", "x"), ("image", "remove", name),
                  ("record", "-o", b"/none/" + name, "--", "true"), ("record", "-e", name, "--", "true"),
                  ("record", "--", name), ("script", "--jitdump", name), ("agent", "load", "-p", "1", "--agent", name)):
        run(*words, status=(1, 2, 3))


def test_every_verb():
    with hostile_page() as target:
        messages(target)
        lives(target)
        probes(target, "page_f0*", status=(0, 3))  # by breakpoints, where the machine has some
        recording(target)


def test_node():
    with hostile_node() as target:
        run("methods", "-p", target.pid, wanted=rb"hot\x1b[2J")
        probes(target, "hot*")
        exposes(target)


harness.main(test_every_verb, test_node)
