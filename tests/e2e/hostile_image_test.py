"""Whoever shares a machine with jitscope: a target that exchanges descriptors, another user who exchanges files
or holds locks. Nothing of ours is written to their files, nothing of theirs runs in the target, and nobody keeps
an image from being taken back."""

import os
import pathlib
import shutil
import sys

import harness
from harness import Child, Run, Skip, check, equal, jitscope, scratch
from runtimes import PAGE_F0, FixedPage

NOBODY = 65534
# In a mount namespace of its own, where no directory can hold an image.
NOWHERE = """
mount -t tmpfs -o noexec tmpfs /tmp && mount -t tmpfs -o ro tmpfs /var/tmp &&
mount -t tmpfs -o noexec tmpfs /dev/shm && mount -t tmpfs -o noexec tmpfs /run && cd /tmp && exec "$0" "$@"
"""
# Only /tmp would do, and there everybody may rename everything.
OPEN_TMP = NOWHERE.replace("noexec tmpfs /tmp", "mode=0777 tmpfs /tmp", 1)
NEW_NAMESPACE = ["unshare", "--mount", "sh", "-c"]


def need_root():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root and unshare")


class Hidden(FixedPage):
    """In a namespace; its program must lie where nothing is mounted over it."""

    def __init__(self, script, **options):
        need_root()
        covered = ("/tmp", "/var/tmp", "/dev/shm", "/run")
        places = (os.getcwd(), os.path.expanduser("~"))
        base = next((each for each in places if not each.startswith(covered)), None)
        if base is None:
            raise Skip("neither the working directory nor the home lies outside /tmp")
        super().__init__(*NEW_NAMESPACE, script, base=base, **options)

    @property
    def map_path(self):
        return f"/proc/{self.pid}/root/tmp/perf-{self.pid}.map"


def trace(target, *words):
    return Run("trace", "-p", target.pid, "--count", "--json", *words, "page_f0")


def refused(target, message, victim):
    """Until the target has won the race, or often enough; every run leaves it and the file as they were."""
    before = victim.stat()
    for _ in range(30):
        run = trace(target, "--backend", "trampoline", "--duration", "0.01")
        status = run.finish()
        check(status in (0, 3), f"status: {run.story()}")
        now = victim.stat()
        equal((now.st_size, now.st_mode, now.st_uid), (0, before.st_mode, before.st_uid), f"root's file: {victim.name}")
        target.go("go 100")
        target.check_sound()
        if message in run.error:
            equal(status, 3, "the status of a refused run")
            return
    print(f"note: the target won no race for {victim.name} ({message!r} was not seen)", flush=True)


def victims(directory):
    """A file of root's, and descriptors of it as a stranger can have them."""
    for name, mode, flags in (("read", 0o644, os.O_RDONLY), ("path", 0o600, os.O_PATH)):
        path = directory / name
        path.touch(mode)
        yield path, os.open(path, flags)


def test_exchanged_memfd():
    for path, descriptor in victims(scratch()):
        with Hidden(NOWHERE, pass_fds=(descriptor,)) as target:
            target.write_map()
            equal(target.ask(f"usurp {descriptor}"), "0", "the thread")
            refused(target, "another file in the place of the memfd", path)
        os.close(descriptor)


def test_exchanged_descriptor_of_the_file():
    for path, descriptor in victims(scratch()):
        with FixedPage(pass_fds=(descriptor,)) as target:
            target.write_map()
            equal(target.ask(f"usurp {descriptor}"), "0", "the thread")
            # Opened or mapped: whichever it exchanged.
            refused(target, "another file than ours", path)
        os.close(descriptor)


RENAMER = """
import os, sys
os.chdir(sys.argv[1])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
print("ready", flush=True)
while True:
    for name in os.listdir("."):
        if name.startswith("jitscope-"):
            with open("evil", "w") as file:
                file.write("evil")
            os.chmod("evil", 0o777)
            os.rename("evil", name)
"""


def test_directory_where_others_rename():
    with Hidden(OPEN_TMP) as target:
        target.write_map()
        directory = pathlib.Path(f"/proc/{target.pid}/root/tmp")
        with Child([sys.executable, "-c", RENAMER, str(directory)]) as renamer:
            renamer.expect("ready")
            run = trace(target, "--backend", "trampoline")
            run.started()
            maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
            check("memfd:jitscope-" in maps and "/tmp/jitscope-" not in maps, f"where the image lies: {maps}")
            target.go("go 1000")
            run.interrupt()
            equal(run.result().summaries()[PAGE_F0]["calls"], 1000, "calls")
            check("/tmp: others may rename files in it" in "\n".join(run.err + run.out), f"the reason: {run.story()}")
            equal([each for each in os.listdir(directory) if each.startswith("jitscope-")], [], "files of images")
        target.go("go 100")
        target.check_sound()


LOCKER = """
import fcntl, os, struct, sys
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(file, fcntl.LOCK_SH)
try:  # F_OFD_SETLK, F_RDLCK
    fcntl.fcntl(file, 37, struct.pack("hhlli4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
    print("holds both", flush=True)
except BlockingIOError:
    print("holds one", flush=True)
sys.stdin.read()
"""


def undo(target, *words, status=0):
    run = jitscope("expose", "--undo", "-p", target.pid, "--json", *words, status=status)
    return run, run.objects("undone")[0]


def test_a_stranger_holds_locks():
    need_root()
    with FixedPage() as target:
        target.write_map()
        before = target.memory(target.entry(0), 8)
        kept = jitscope("expose", "-p", target.pid, "--keep", "--json", "page_f0").objects("exposed")[0]
        with Child([sys.executable, "-c", LOCKER, kept["file"]]) as stranger:
            stranger.expect("holds both")
            _, undone = undo(target)
            equal((undone["entries_restored"], undone["in_use"], undone["files_removed"]), (1, 0, 1), "taken back")
        equal(target.memory(target.entry(0), 8), before, "the entry")
        target.go("go 100")


def test_what_is_held_is_left_and_told():
    need_root()
    with FixedPage() as target:
        target.write_map()
        before = target.memory(target.entry(0), 8)
        run = Run("expose", "-p", target.pid, "--json", "page_f0")
        run.expect('{"type":"exposed"')
        file = run.objects("exposed")[0]["file"]
        # A stranger cannot take the holder's place, nor hide it.
        with Child([sys.executable, "-c", LOCKER, file]) as stranger:
            stranger.expect("holds one")
            left, undone = undo(target, status=3)
            equal((undone["in_use"], undone["entries_restored"]), (1, 0), "left alone")
            check(f"jitscope expose --undo --force -p {target.pid}" in left.error, f"the command: {left.error}")
            equal(target.memory(target.entry(0), 1), b"\xe9", "the entry is a jump")
            _, undone = undo(target, "--force")
            equal((undone["entries_restored"], undone["files_removed"]), (1, 1), "taken back by force")
        equal(target.memory(target.entry(0), 8), before, "the entry")
        run.interrupt()
        run.result()
        target.go("go 100")
        target.check_sound()


harness.main(test_exchanged_memfd, test_exchanged_descriptor_of_the_file, test_directory_where_others_rename,
             test_a_stranger_holds_locks, test_what_is_held_is_left_and_told)
