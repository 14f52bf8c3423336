"""Targets in their own pid and mount namespace, with a /tmp of their own, seen from outside."""

import pathlib
import shutil

import harness
from harness import Run, Skip, Target, bodies, check, equal, wait_for
from runtimes import java_command, jdks, node, warm

ISOLATE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "sh", "-c",
           'mount -t tmpfs tmpfs /tmp && exec "$0" "$@"']


class Isolated(Target):
    def __init__(self, argv):
        if not shutil.which("unshare"):
            raise Skip("no unshare in PATH")
        try:
            super().__init__([*ISOLATE, *argv], cwd=harness.scratch("/var/tmp"))
        except harness.Failure as failure:
            if "Operation not permitted" in str(failure):
                raise Skip("no right to make namespaces") from None
            raise
        outer = self.process.pid
        children = pathlib.Path(f"/proc/{outer}/task/{outer}/children")
        self.pid = int(wait_for(children.read_text, "the isolated process").split()[0])
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        check("\nNSpid:\t" + str(self.pid) + "\t1\n" in status, "the target is pid 1 in its namespace")


def count(target, name, pattern):
    run = Run("trace", "-p", target.pid, "--count", "--json", "--backend", "trampoline", pattern)
    run.started()
    target.go("go 10000")
    run.interrupt()
    summaries = run.result().summaries()
    equal({each: (summary["calls"], summary["lost"]) for each, summary in summaries.items()},
          {name: (10_000, 0)}, f"{target.argv}: counts")
    target.go("go 100")
    target.check_sound()


def test_java():
    for java in jdks().values():
        # The classes must not lie in the /tmp that the target does not see.
        with Isolated(java_command(java, "TruthMain", dontinline="Truth*::*", base="/var/tmp")) as target:
            warm(target, ["Truth.fixed(int)"], "c2")
            count(target, "Truth.fixed(int)", "Truth.fixed")


def test_node():
    script = str(harness.PROGRAMS / "truth.js")
    with Isolated([node(), "--perf-basic-prof", "--no-turbo-inlining", script]) as target:
        target.go("go 100000")
        name = wait_for(lambda: bodies(target, "truth.js:hot"), "the function in the map")[0]["method"]
        warm(target, [name], "turbofan")
        count(target, name, "truth.js:hot")


harness.main(test_java, test_node)
