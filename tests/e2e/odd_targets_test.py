"""Targets in a state that few think of: frozen by their cgroup, before or in the midst of a trace, and stopped. Nothing
waits for ever, what cannot be done is said with its reason, and what is left is taken back once it can be."""

import os
import pathlib
import re
import signal

from harness import Run, Skip, check, equal, jitscope, main, wait_for
from runtimes import in_use, jdks, start_java, warm

FIXED = "Truth.fixed(int)"
COUNT = ["--count", "--json", "--backend", "trampoline"]


class Freezer:
    """A cgroup of its own for a target; version 2 keeps threads in the kernel's signal code, version 1 where they sleep."""

    def __init__(self, pid, version):
        kind = "cgroup2" if version == 2 else "cgroup"
        mounts = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        points = [words[4] for words in mounts if words[words.index("-") + 1] == kind
                  and (version == 2 or "freezer" in words[-1].split(","))]
        if os.geteuid() != 0 or not points:
            raise Skip(f"no freezer of cgroup version {version}")
        self.version = version
        self.place = pathlib.Path(points[0]) / f"e2e-{pid}"
        try:
            self.place.mkdir()
            (self.place / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise Skip(f"no cgroup can be made: {error}") from None
        self.file = self.place / ("cgroup.freeze" if version == 2 else "freezer.state")
        if not self.file.exists():
            self.place.rmdir()
            raise Skip("no freezer in this cgroup")

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.thaw()

    def frozen(self):
        if self.version == 1:
            return self.file.read_text().strip() == "FROZEN"
        return "frozen 1" in (self.place / "cgroup.events").read_text()

    def freeze(self):
        self.file.write_text("1" if self.version == 2 else "FROZEN")
        wait_for(self.frozen, "the cgroup to be frozen")

    def thaw(self):
        self.file.write_text("0" if self.version == 2 else "THAWED")

    def remove(self):
        wait_for(lambda: not (self.place / "cgroup.procs").read_text(), "the cgroup to be empty")
        self.place.rmdir()


def target_of(java):
    return start_java(java, "TruthMain", dontinline="Truth*::*")


def entry_of(target):
    return int(in_use(target, FIXED)[FIXED][-1]["entry"], 0)


def images(target):
    maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
    return re.findall(r"jitscope-\S+", maps)


def on_each_freezer(function):
    skipped = []
    for version in (2, 1):
        freezer = None
        try:
            with target_of(max(jdks().items())[1]) as target:
                warm(target, [FIXED], "c2")
                freezer = Freezer(target.pid, version)
                with freezer:
                    function(target, freezer)
                target.go("go 1000")
                target.check_sound()
        except Skip as reason:
            skipped.append(str(reason))
            print(f"note: {reason}")
        finally:
            if freezer is not None:
                freezer.remove()
    if len(skipped) == 2:
        raise Skip("; ".join(skipped))


def test_frozen_before():
    def refused(target, freezer):
        before = target.memory(entry_of(target), 16)
        freezer.freeze()
        check(in_use(target, FIXED), "a frozen process can be read")
        for words in (["trace", *COUNT], ["expose", "--keep"]):
            run = jitscope(words[0], "-p", target.pid, *words[1:], FIXED, status=3)
            check("frozen" in run.error, f"{words[0]}: the reason: {run.error}")
        equal(target.memory(entry_of(target), 16), before, "the entry")
        equal(images(target), [], "nothing is mapped")
        freezer.thaw()
        target.go("go 1000")
        equal(images(target), [], "nor is it when the target runs again")
    on_each_freezer(refused)


def test_frozen_during():
    def left(target, freezer):
        before = target.memory(entry_of(target), 16)
        run = Run("trace", "-p", target.pid, *COUNT, FIXED)
        run.started()
        target.go("go 1000")
        freezer.freeze()
        run.interrupt()
        status = run.finish(120)
        jump = target.memory(entry_of(target), 1) == b"\xe9"
        if jump:
            # What is left is said, and why, and what takes it back.
            check(status != 0 and "frozen" in run.error, f"the reason: {run.story()}")
        else:
            equal(status, 0, f"it was taken back: {run.story()}")
        freezer.thaw()
        if jump:
            jitscope("expose", "--undo", "-p", target.pid)
        equal(target.memory(entry_of(target), 16), before, "the entry")
    on_each_freezer(left)


def state(target):
    return pathlib.Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_stopped():
    """A process that SIGSTOP holds stays stopped, through all that is done to it."""
    with target_of(max(jdks().items())[1]) as target:
        warm(target, [FIXED], "c2")
        target.signal(signal.SIGSTOP)
        wait_for(lambda: state(target) == "T", "the target to stop")
        run = Run("trace", "-p", target.pid, *COUNT, FIXED)
        run.started()
        wait_for(lambda: state(target) == "T", "the target to be stopped as before")
        target.signal(signal.SIGCONT)
        target.go("go 1000")
        target.signal(signal.SIGSTOP)
        wait_for(lambda: state(target) == "T", "the target to stop")
        run.interrupt()
        equal(run.result().summaries()[FIXED]["calls"], 1000, "calls")
        wait_for(lambda: state(target) == "T", "the target to be stopped as before")
        target.signal(signal.SIGCONT)
        target.go("go 1000")
        target.check_sound()


main(test_frozen_before, test_frozen_during, test_stopped)
