"""jitscope on a terminal: the pager, who waits for whom, colours, and rows that fit. The terminal is a pty; a reader
here sees what a user would. Into a pipe goes what always went there.
"""

import errno
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import harness
from harness import JITSCOPE, TIME_FACTOR, Failure, Skip, check, compiled, equal, jitscope, scratch, wait_for
from runtimes import PageTarget, jit_page

NAME = "a_function_whose_name_is_longer_than_any_terminal_that_people_have_is_wide_so_that_it_is_cut_" + "x" * 60
SOURCE = f"""
static volatile double sink;
__attribute__((noinline)) double {NAME}(double x) {{
  double s = 0;
  for (int i = 1; i < 3000; ++i) s += (x + i) / (i * 3.0);
  return s;
}}
int main(void) {{
  for (long i = 0; i < 30000; ++i) sink = {NAME}((double)i);
  return 0;
}}
"""
# What the environment of whoever runs the tests says of pagers and terminals.
OURS = ("JITSCOPE_PAGER", "PAGER", "LESS", "COLUMNS", "NO_COLOR", "TERM")
ESCAPE = b"\x1b"

# Says who it is, reads nothing until a line is typed, tells of Ctrl-C, and whose child it is at the end.
PAGER = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *ignored: print("interrupted", flush=True))
print("pager", os.getpid(), flush=True)
with open("/dev/tty") as keys:
    keys.readline()
read = len(sys.stdin.buffer.read())
print("left", os.getppid(), read > 0, flush=True)
"""

_made = {}


def recording():
    if "data" not in _made:
        hot = compiled("hot", SOURCE, "-O0")
        _made["data"] = hot.parent / "perf.data"
        jitscope("record", "-e", "cpu-clock", "-F", "5000", "-o", _made["data"], "--", hot)
    return _made["data"]


def environment(**variables):
    clean = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**clean, "TERM": "xterm", **variables}


class Terminal:
    """jitscope with a terminal of its own, which it is in the foreground of."""

    def __init__(self, *words, columns=200, stdin=None, **variables):
        self.argv = [JITSCOPE, *map(str, words)]
        self.out = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.OPOST  # line ends as they are written
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        # Python says so here: a pty is one's controlling terminal when a session's leader takes it.
        self.process = subprocess.Popen(self.argv, stdin=slave if stdin is None else stdin, stdout=slave, stderr=slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),
                                        env=environment(**variables))
        harness._children.append(self.process)
        os.close(slave)
        self.end = time.monotonic() + 60 * TIME_FACTOR

    def _read(self):
        """False at the end: nobody has the terminal open any more."""
        if not select.select([self.master], [], [], max(0, self.end - time.monotonic()))[0]:
            raise Failure(f"{self.argv} says no more: {self.out[-600:]!r}")
        try:
            piece = os.read(self.master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            piece = b""
        self.out += piece
        return bool(piece)

    def until(self, wanted):
        while not re.search(wanted, self.out):
            check(self._read(), f"{self.argv}: no {wanted!r} in {self.out[-600:]!r}")
        return re.search(wanted, self.out)

    def type(self, keys):
        os.write(self.master, keys)

    def finish(self, status=0):
        """What was on the terminal when the last who had it open was gone."""
        while self._read():
            pass
        equal(self.process.wait(60 * TIME_FACTOR), status, f"{self.argv}: status; {self.out[-600:]!r}")
        os.close(self.master)
        return self.out


def shown(*words, status=0, **options):
    return Terminal(*words, **options).finish(status)


def piped(*words, status=0, **variables):
    done = subprocess.run([JITSCOPE, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          env=environment(**variables), timeout=60 * TIME_FACTOR)
    equal(done.returncode, status, f"{words}: status; {done.stderr[-600:]!r}")
    return done.stdout


def lines(out):
    return out.decode().splitlines()


def is_paged(out):
    return b"paged: " in out


def test_which_pager():
    data = recording()
    paged = "sed 's/^/paged: /'"
    for verb in ("script", "report", "doctor"):
        out = lines(shown(verb, "-i", data, JITSCOPE_PAGER=paged, TERM="dumb"))
        check(out and all(line.startswith("paged: ") for line in out), f"{verb}: {out[:3]}")
        equal([line[7:] for line in out], lines(shown("--no-pager", verb, "-i", data, JITSCOPE_PAGER=paged, TERM="dumb")),
              f"{verb}: all goes through it")
        check(not is_paged(shown(verb, "-i", data, "--no-pager", JITSCOPE_PAGER=paged)), f"{verb} --no-pager")
        check(not is_paged(shown(verb, "-i", data, "--json", JITSCOPE_PAGER=paged)), f"{verb} --json")
        check(not is_paged(piped(verb, "-i", data, JITSCOPE_PAGER=paged)), f"{verb}: none for a pipe")
    check(is_paged(shown("doctor", "-p", os.getpid(), JITSCOPE_PAGER=paged)), "doctor -p")
    check(is_paged(shown("report", "-i", data, PAGER=paged)), "$PAGER")
    for none in ("", "cat", " "):
        check(not is_paged(shown("report", "-i", data, JITSCOPE_PAGER=none, PAGER=paged)), f"none by {none!r}")
        shown("report", "-i", data, PAGER=none)


def test_less_is_the_usual_one():
    data = recording()
    folder = scratch()
    less = folder / "less"
    less.write_text('#!/bin/sh\necho "paged: $LESS"\nexec cat\n')
    less.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    check(shown("report", "-i", data, PATH=path).startswith(b"paged: FRX\n"), "less, with what git gives it")
    check(shown("report", "-i", data, PATH=path, LESS="-i").startswith(b"paged: -i\n"), "less, as the user has it")
    check(not is_paged(shown("report", "-i", data, PATH=path, TERM="dumb")), "none on a dumb terminal")
    check(not is_paged(shown("report", "-i", data, PATH=str(scratch()))), "no less, no pager")
    real = shutil.which("less")
    if real:
        with_less = shown("report", "-i", data, "--max", "3", PAGER=real, TERM="xterm")
        check(b"main" in with_less and b"(END)" not in with_less, f"what fits the screen is not held: {with_less}")


def test_a_pager_that_is_left_early():
    data = recording()
    check(len(piped("script", "-i", data)) > 1 << 18, "more than a pipe holds")
    out = shown("script", "-i", data, JITSCOPE_PAGER="head -n 2")
    equal(lines(out), lines(piped("script", "-i", data))[:2], "what it showed, and not a word more")
    shown("report", "-i", data, JITSCOPE_PAGER="head -n 1")
    shown("report", "-i", data, JITSCOPE_PAGER="true")


def test_a_pager_that_is_not_there():
    data = recording()
    for pager in ("/does/not/exist", "no-such-pager -R", "no-such-pager | no-such-pager"):
        for verb in ("script", "report", "doctor"):
            plain = shown(verb, "--no-pager", "-i", data)
            out = shown(verb, "-i", data, JITSCOPE_PAGER=pager)
            # The shell says why, at any moment.
            kept = b"".join(line for line in out.splitlines(True)
                            if b"exist" not in line and b"no-such-pager" not in line)
            equal(kept[:200], plain[:200], f"{verb} with {pager}: its beginning")
            equal(len(kept), len(plain), f"{verb} with {pager}: all of it")


def test_ctrl_c_waits_for_the_pager():
    data = recording()
    pager = scratch() / "pager.py"
    pager.write_text(PAGER)
    # script's text does not fit the pipe: it is still at work; report waits for the end.
    for verb in ("script", "report"):
        run = Terminal(verb, "-i", data, JITSCOPE_PAGER=f"{sys.executable} {pager}")
        child = int(run.until(rb"pager (\d+)\n")[1])
        run.type(b"\x03")
        run.until(b"interrupted\n")
        run.type(b"q\n")
        out = run.finish(status=-signal.SIGINT)
        check(f"left {run.process.pid} True\n".encode() in out, f"{verb}: jitscope is there until the pager ends: {out}")
        check(not pathlib.Path(f"/proc/{child}").exists(), f"{verb}: no pager is left")


def test_ctrl_c_in_less():
    less = shutil.which("less")
    if not less:
        raise Skip("no less")
    for words in (("script",), ("report", "-g")):
        run = Terminal(*words, "-i", recording(), JITSCOPE_PAGER=less)
        before = termios.tcgetattr(run.master)
        run.until(b"cpu-clock")
        run.type(b"\x03")
        run.type(b"qq")  # less may take the first for the answer to Ctrl-C
        while run._read():
            pass
        equal(termios.tcgetattr(run.master)[:4], before[:4], f"{words}: the terminal is as it was")
        status = run.process.wait(60 * TIME_FACTOR)
        check(status in (-signal.SIGINT, 0), f"{words}: {status}")


def pending_interrupt(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return any(int(word, 16) & 1 << signal.SIGINT - 1 for word in re.findall(r"(?:SigPnd|ShdPnd):\s*(\w+)", status))


def test_a_recorder_gets_the_first_ctrl_c():
    """perf record -o - | jitscope script -i -"""
    pager = scratch() / "pager.py"
    pager.write_text(PAGER)
    held, writer = os.pipe()
    os.set_inheritable(held, True)
    run = Terminal("script", "-i", "-", stdin=held, JITSCOPE_PAGER=f"{sys.executable} {pager}")
    os.close(held)
    feeder = subprocess.Popen(["cat", recording()], stdout=writer)
    os.close(writer)
    run.until(rb"pager (\d+)\n")
    for _ in range(2):
        run.out = b""
        run.type(b"\x03")
        run.until(b"interrupted\n")
        # Two that wait at a time would be one.
        wait_for(lambda: not pending_interrupt(run.process.pid), "jitscope takes the signal")
    run.type(b"q\n")
    check(f"left {run.process.pid} True\n".encode() in run.finish(status=-signal.SIGINT), run.out)
    feeder.wait(60 * TIME_FACTOR)


def test_notes_wait_for_the_pager():
    folder = scratch()
    jitscope("record", "-e", "cpu-clock", "-F", "1", "-o", folder / "perf.data", "--", "true")
    out = lines(shown("report", "-i", folder / "perf.data", status=1, JITSCOPE_PAGER="cat; echo the end"))
    at = out.index("the end")
    check(any("no samples" in line for line in out[at:]), f"the note is below: {out}")
    check(not any("no samples" in line for line in out[:at]), f"and not above: {out}")


def test_colours():
    data = recording()
    row = re.compile(rb"^\x1b\[31m +\d+\.\d\d%\x1b\[m \x1b\[31m +\d+\.\d\d%\x1b\[m .*a_fun", re.MULTILINE)
    check(row.search(shown("report", "--no-pager", "-i", data)), "red")
    check(row.search(shown("report", "-i", data, JITSCOPE_PAGER="cat; true")), "red in the pager")
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        check(ESCAPE not in shown("report", "--no-pager", "-i", data, **variables), f"no colour: {variables}")
        check(row.search(shown("report", "--no-pager", "--stdio-color", "always", "-i", data, **variables)),
              f"asked for: {variables}")
    check(ESCAPE not in shown("report", "--no-pager", "--stdio-color=never", "-i", data), "never")
    check(ESCAPE not in piped("report", "-i", data), "no colour in a pipe")
    check(row.search(piped("report", "--stdio-color", "always", "-i", data)), "but when it is asked for")
    check(ESCAPE not in piped("report", "--stdio-color", "always", "--json", "-i", data), "JSON has none")
    piped("report", "--stdio-color", "sometimes", "-i", data, status=2)


def too_long(out, width):
    """Rows of a table, without the lines above."""
    rows = [line for line in lines(re.sub(rb"\x1b\[\d*m", b"", out)) if not line.startswith("# ")]
    check(len(rows) > 1, f"a table: {out}")
    return [line for line in rows if len(line) > width]


def test_rows_fit():
    data = recording()
    for words in (("report",), ("report", "-g"), ("report", "--no-children"), ("report", "-s", "process,method"),
                  ("report", "--callers", NAME)):
        for options in ({"COLUMNS": "60"}, {"COLUMNS": "60", "columns": 300}, {"columns": 60}):
            out = shown("--no-pager", *words, "-i", data, **options)
            equal(too_long(out, 60), [], f"{words}, {options}")
            check(NAME.encode() not in out and b"..." in out, f"cut: {out}")
        out = shown(*words, "-i", data, columns=80, JITSCOPE_PAGER="cat; true")
        equal(too_long(out, 80), [], f"{words} in a pager")
        check(NAME.encode() in shown("--no-pager", *words, "-i", data, columns=400), f"{words}: a wide terminal")
        whole = piped(*words, "-i", data)
        check(NAME.encode() in whole, f"{words}: whole names in a pipe")
        equal(piped(*words, "-i", data, COLUMNS="60"), whole, f"{words}: $COLUMNS is for terminals")


def test_rows_of_methods_and_processes():
    target = PageTarget([jit_page()])
    with target:
        target.write_map(re.sub(r"page_f0\n", f"page_f0_{'y' * 200}\n", target.map_text()))
        for width in (60, 80, 120):
            out = shown("methods", "-p", target.pid, COLUMNS=str(width))
            rows = [line for line in lines(out) if "page_f" in line or "ADDRESS" in line]
            check(len(rows) > 1 and all(len(row) <= width for row in rows), f"{width}: {rows}")
            heads = [line for line in lines(shown("ps", COLUMNS=str(width))) if re.match(r" *\d+  ", line)]
            check(heads and all(len(head) <= width for head in heads), f"{width}: {heads}")
        whole = piped("methods", "-p", target.pid)
        check(b"y" * 200 in whole and b" ENTRY " in whole, "whole names in a pipe")
        equal(piped("methods", "-p", target.pid, COLUMNS="60"), whole, "$COLUMNS is for terminals")


if __name__ == "__main__":
    harness.main(
        test_which_pager,
        test_less_is_the_usual_one,
        test_a_pager_that_is_left_early,
        test_a_pager_that_is_not_there,
        test_ctrl_c_waits_for_the_pager,
        test_ctrl_c_in_less,
        test_a_recorder_gets_the_first_ctrl_c,
        test_notes_wait_for_the_pager,
        test_colours,
        test_rows_fit,
        test_rows_of_methods_and_processes,
    )
