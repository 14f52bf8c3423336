"""Runs targets and jitscope, and compares exactly.

A test file defines functions and ends with `harness.main(function, ...)`. A function takes nothing and
raises: Failure for what is wrong, Skip (with the reason) for what this machine lacks. Targets talk over
standard input and output, one line a request and one a reply, so nothing here waits for time to pass: it
waits for a line or polls a condition until a limit that only a broken run reaches.

Environment: JITSCOPE (the binary), JITSCOPE_JIT_PAGE (the C target), JITSCOPE_TIME_FACTOR (multiplies
every limit, for sanitizer builds).
"""

import atexit
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "programs"
JITSCOPE = os.environ.get("JITSCOPE", str(HERE.parent.parent / "build/release/jitscope"))
TIME_FACTOR = float(os.environ.get("JITSCOPE_TIME_FACTOR", "1"))
SKIPPED = 77
NO_BREAKPOINTS = "hardware breakpoints do not fire on this machine"


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(actual, expected, what):
    if actual != expected:
        raise Failure(f"{what}: got {actual!r}, expected {expected!r}")


def wait_for(condition, what, limit=60):
    """Polls until condition() is true and returns its value."""
    end = time.monotonic() + limit * TIME_FACTOR
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited in vain for: {what}")
        time.sleep(0.01)


_directories = []


def scratch(base="/tmp"):
    """A directory that is removed at exit."""
    made = tempfile.TemporaryDirectory(prefix="e2e-", dir=base)
    os.chmod(made.name, 0o755)
    _directories.append(made)
    return pathlib.Path(made.name)


def compiled(name, source, *flags):
    """The program of this C source, in a directory of its own that is removed at exit."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skip("no C compiler")
    program = scratch() / name
    program.with_suffix(".c").write_text(source)
    subprocess.run([compiler, *flags, "-o", program, program.with_suffix(".c")], check=True)
    return program


_children = []


def _end(process):
    """With what it started itself: every child leads a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@atexit.register
def _end_children():
    for child in _children:
        if child.poll() is None:
            _end(child)


class Child:
    """A process with its output read line by line by threads of ours."""

    def __init__(self, argv, **options):
        self.argv = [str(word) for word in argv]
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", bufsize=1, start_new_session=True, **options)
        _children.append(self.process)
        self.pid = self.process.pid
        self.lines = queue.Queue()
        self.out = []
        self.err = []
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.out), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.err), daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, kept):
        for line in stream:
            line = line.rstrip("\n")
            kept.append(line)
            if kept is self.out:
                self.lines.put(line)
        if kept is self.out:
            self.lines.put(None)

    def story(self):
        out, err = ([line[:400] for line in lines] for lines in (self.out[-8:], self.err[-12:]))
        return (f"{' '.join(self.argv)}\n  status {self.process.poll()}\n"
                f"  stdout (end): {out}\n  stderr (end): {err}")

    def expect(self, prefix, limit=60):
        """The first coming line on stdout that begins so."""
        end = time.monotonic() + limit * TIME_FACTOR
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"no line {prefix!r} from {self.story()}") from None
            if line is None:
                self.lines.put(None)
                raise Failure(f"ended before a line {prefix!r}: {self.story()}")
            if line.startswith(prefix):
                return line

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def running(self):
        return self.process.poll() is None

    def finish(self, limit=60):
        """Waits for the end; the exit status."""
        try:
            status = self.process.wait(limit * TIME_FACTOR)
        except subprocess.TimeoutExpired:
            raise Failure(f"does not end: {self.story()}") from None
        for reader in self._readers:
            reader.join(10 * TIME_FACTOR)
        return status

    def kill(self):
        if self.running():
            _end(self.process)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.kill()


class Target(Child):
    """A program that is observed. Its pid is the one that it has here."""

    def __init__(self, argv, **options):
        super().__init__(argv, **options)
        self.hello = self.expect("ready ").split()

    def ask(self, request, limit=120):
        verb = request.split()[0]
        self.send(request)
        return self.expect(verb + " ", limit)[len(verb) + 1:]

    def go(self, request):
        """Asks, and wants the target's own checks to be right."""
        reply = self.ask(request)
        check(" errors 0" in reply, f"the target computed wrongly: {reply}; {self.story()}")
        return reply

    @property
    def map_path(self):
        return f"/tmp/perf-{self.pid}.map"

    def __exit__(self, *ignored):
        super().__exit__()
        # What a runtime or a test wrote for this pid; a later process may get the same.
        if os.path.lexists(self.map_path):
            os.unlink(self.map_path)

    def check_sound(self):
        """Alive, not stopped, not traced: within a moment, since a tracer's end is not at once."""
        check(self.running(), f"the target died: {self.story()}")
        wait_for(lambda: not self.troubled(), "all threads to run untraced", 20)

    def troubled(self):
        found = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                fields = dict(line.split(":\t", 1) for line in
                              (task / "status").read_text().splitlines() if ":\t" in line)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields["State"][0] in "Tt" or fields["TracerPid"] != "0":
                found.append((task.name, fields["State"], fields["TracerPid"]))
        return found

    def memory(self, address, length):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(length)


class Run(Child):
    """jitscope, running."""

    def __init__(self, *words, **options):
        super().__init__([JITSCOPE, *words], **options)

    def started(self, limit=60):
        """Until all sites are in place; the line that says so."""
        try:
            return json.loads(self.expect('{"type":"started"', limit))
        except Failure:
            self.skip_without_breakpoints()
            raise

    def skip_without_breakpoints(self):
        """A virtual machine may take hardware breakpoints and never raise one; jitscope refuses them then."""
        try:
            self.process.wait(10 * TIME_FACTOR)  # its output may have ended a moment before itself
        except subprocess.TimeoutExpired:
            return
        self.finish()
        if NO_BREAKPOINTS in self.error:
            raise Skip(NO_BREAKPOINTS)

    def interrupt(self):
        self.signal(signal.SIGINT)

    def result(self, status=0, limit=60):
        """Waits for the end, wants this exit status (or one of these), parses what was printed."""
        wanted = status if isinstance(status, tuple) else (status,)
        got = self.finish(limit)
        if got not in wanted:
            self.skip_without_breakpoints()
        check(got in wanted, f"exit status {got}, expected {wanted}: {self.story()}")
        return self

    @property
    def error(self):
        return "\n".join(self.err)

    def objects(self, kind=None):
        found = []
        for line in self.out:
            try:
                found.append(json.loads(line))
            except ValueError:
                raise Failure(f"no JSON: {line!r} from {self.story()}") from None
        return [each for each in found if kind is None or each["type"] == kind]

    def summaries(self):
        return {each["method"]: each for each in self.objects("summary")}


def jitscope(*words, status=0, limit=60, **options):
    """Runs it to its end."""
    run = Run(*words, **options)
    run.process.stdin.close()
    return run.result(status, limit)


def bodies(target, *patterns, status=(0, 1)):
    return jitscope("methods", "-p", target.pid, "--json", *patterns, status=status).objects("body")


def main(*functions):
    if not os.access(JITSCOPE, os.X_OK):
        print(f"SKIP: no jitscope at {JITSCOPE}")
        sys.exit(SKIPPED)
    wanted = sys.argv[1:]
    failed = passed = 0
    for function in functions:
        if wanted and function.__name__ not in wanted:
            continue
        begin = time.monotonic()
        try:
            function()
            passed += 1
            print(f"ok   {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skip as reason:
            print(f"SKIP: {function.__name__}: {reason}", flush=True)
        except Exception as error:  # the other functions still have something to say
            failed += 1
            print(f"FAIL {function.__name__}: {error}", flush=True)
            if not isinstance(error, Failure):
                traceback.print_exc()
    sys.exit(1 if failed else 0 if passed else SKIPPED)
