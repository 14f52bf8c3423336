"""A target in a pid and a mount namespace of its own, with a /tmp of its own."""

import pathlib
import shutil

import harness
from harness import Skip, Target, check, wait_for

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
