"""Outputs in folders where a stranger has been before: links, hard links, FIFOs, files and folders of his. What they
lead to stays as it is, nothing waits, nothing of his is filled; and a folder that he swaps for a link while it is
written to leads nowhere.

As root beside another user, in a folder like /tmp and in one without the sticky bit: there the kernel's own guards
(fs.protected_symlinks and its kind) do nothing, as where they are switched off.
"""

import functools
import os
import pathlib
import stat
import subprocess

import harness
from harness import Run, Skip, check, equal, jitscope, scratch, wait_for
from profiles import perf_environment
from runtimes import start_jit_page

NOBODY = 65534
LIMIT = 60
SECRET = "precious\n"


def by_nobody(function, *arguments):
    """Runs it in a child that is another user."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.umask(0)
            function(*arguments)
            status = 0
        finally:
            os._exit(status)
    equal(os.waitpid(child, 0)[1], 0, f"what the other user does: {function} {arguments}")


class Place:
    """A folder where everybody may write, and a file and a folder of root's elsewhere."""

    def __init__(self, mode):
        self.public = scratch("/var/tmp")
        self.public.chmod(mode)
        self.private = scratch("/var/tmp")
        self.victim = self.private / "victim"
        self.victim.write_text(SECRET)
        self.victim.chmod(0o600)
        self.folder = self.private / "folder"
        self.folder.mkdir()
        for name in ("jit-1.so", "jit-1-2.dump", "jit-1-2.dump.new", "note"):
            (self.folder / name).write_text(SECRET)
        self.mode = stat.S_IMODE(self.victim.stat().st_mode)
        self.nothing = self.private / "nothing"

    def check_unharmed(self, what):
        equal(self.victim.read_text(), SECRET, f"{what}: the victim's text")
        equal(stat.S_IMODE(self.victim.stat().st_mode), self.mode, f"{what}: its mode")
        equal(self.victim.stat().st_uid, os.geteuid(), f"{what}: its owner")
        check(not os.path.lexists(self.nothing), f"{what}: made where a dangling link leads")
        equal({each.name: each.read_text() for each in self.folder.iterdir()},
              dict.fromkeys(("jit-1.so", "jit-1-2.dump", "jit-1-2.dump.new", "note"), SECRET), f"{what}: the folder")


class Prepared:
    def __init__(self):
        self.directory = scratch("/var/tmp")
        self.targets = [start_jit_page(), start_jit_page()]
        for target in self.targets:
            target.write_map()
            target.send("go 100000000")
        self.pid = self.targets[0].pid
        self.data = self.directory / "perf.data"
        jitscope("record", "-p", ",".join(str(target.pid) for target in self.targets), "-e", "cpu-clock",
                 "--duration", "0.5", "-o", self.data)
        self.image = self.directory / "image.elf"
        jitscope("image", "build", "-p", self.pid, "-o", self.image)


@functools.cache
def prepared():
    return Prepared()


def verbs():
    """(what, the name of its output, the words in front of it, whether it replaces a file of its own user's)."""
    ready = prepared()
    yield from ((f"flame {name}", name, ("flame", "-i", ready.data, "-o"), True)
                for name in ("x.html", "x.folded", "x.pb.gz", "x.speedscope.json", "x.firefox.json"))
    yield "record", "perf.data", ("record", "-p", ready.pid, "-e", "cpu-clock", "--duration", "0.05", "-o"), True
    yield "inject", "inj.data", ("inject", "--overwrite", "-i", ready.data, "-o"), True
    yield "image", "out.elf", ("image", "build", "-p", ready.pid, "-o"), False
    yield "image --force", "out.elf", ("image", "build", "--force", "-p", ready.pid, "-o"), True
    yield "map", "out.map", ("map", "-p", ready.pid, "-o"), True
    yield "map --jitdump", "out.dump", ("map", "--jitdump", "-p", ready.pid, "-o"), False


def run(*words, status):
    return jitscope(*words, status=status, limit=LIMIT, env=perf_environment())


def clear(path):
    for each in path.parent.iterdir():
        if each.is_symlink() or not each.is_dir():
            each.unlink()
        else:
            subprocess.run(["rm", "-r", "--", each], check=True)


def as_root():
    if os.geteuid() != 0:
        raise Skip("needs root and another user")


def each_verb(attack, modes=(0o777,)):
    """attack(place, path) lays something at the output's path."""
    as_root()
    for mode in modes:
        place = Place(mode)
        for what, name, words, replaces in verbs():
            path = place.public / name
            attack(place, path)
            yield f"{what} in {mode:o}", place, path, words, replaces
            place.check_unharmed(what)
            clear(path)


def refused_at(attack, *statuses):
    for what, place, path, words, _ in each_verb(attack):
        before = os.lstat(path)
        done = run(*words, path, status=statuses)
        check(path.name in done.error, f"{what}: the message names the output: {done.error}")
        after = os.lstat(path)
        equal((after.st_ino, after.st_size, after.st_mode), (before.st_ino, before.st_size, before.st_mode),
              f"{what}: what lies there")
        left = sorted(each.name for each in path.parent.iterdir())
        equal(left, [path.name], f"{what}: nothing is left beside it")


def test_links():
    refused_at(lambda place, path: by_nobody(os.symlink, place.victim, path), 2)


def test_links_to_nothing():
    refused_at(lambda place, path: by_nobody(os.symlink, place.nothing, path), 2)


def test_fifos():
    refused_at(lambda place, path: by_nobody(os.mkfifo, path, 0o666), 2)


def foreign_file(path):
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    os.write(descriptor, b"his")
    os.close(descriptor)


def test_files_of_another_user():
    for what, place, path, words, _ in each_verb(lambda place, path: by_nobody(foreign_file, path), (0o1777, 0o777)):
        if "--force" in words:  # insists: his file loses its name, and is not written into
            his = os.open(path, os.O_RDONLY)
            run(*words, path, status=0)
            equal((os.read(his, 100), path.stat().st_uid), (b"his", 0), f"{what}: his file, and the new one's owner")
            os.close(his)
            continue
        done = run(*words, path, status=(2, 3))
        equal(path.read_text(), "his", f"{what}: his file: {done.error}")


def test_hard_links():
    for what, place, path, words, replaces in each_verb(lambda place, path: os.link(place.victim, path)):
        run(*words, path, status=0 if replaces else 2)
        equal(os.path.samefile(place.victim, path), not replaces, f"{what}: a file of its own has the name")


def test_own_files_are_replaced():
    for what, _, path, words, replaces in each_verb(lambda place, path: path.write_text("old")):
        run(*words, path, status=0 if replaces else 2)
        equal(path.stat().st_size == 3, not replaces, f"{what}: replaced")


def folder_of_his(path):
    os.mkdir(path)
    foreign_file(path / "jit-1.so")
    foreign_file(path / "jit-1-2.dump")


def folders(name, words, attack, *statuses):
    """An output whose folder somebody made before."""
    for mode in (0o1777, 0o777):
        place = Place(mode)
        path = place.public / name
        attack(place)
        done = run(*words, path, status=statuses)
        place.check_unharmed(f"{words[0]} in {mode:o}: {done.error}")
        yield place, path, done


def test_folder_of_images():
    as_root()
    words = ("inject", "--overwrite", "-i", prepared().data, "-o")
    for _, path, _ in folders("x.data", words, lambda place: by_nobody(os.symlink, place.folder,
                                                                       place.public / "x.data.images"), 2):
        check(not os.path.lexists(path), "no output without its images")
    for place, path, _ in folders("x.data", words, lambda place: by_nobody(folder_of_his,
                                                                           place.public / "x.data.images"), 3):
        equal(sorted(os.listdir(place.public / "x.data.images")), ["jit-1-2.dump", "jit-1.so"], "his folder")
        check(not os.path.lexists(path), "no output without its images")
    # One's own, where others may write; behind a slash a link is one too.
    def loose(place):
        (place.public / "x.data.images").mkdir()
        (place.public / "x.data.images").chmod(0o777)
    for _ in folders("x.data", words, loose, 3):
        pass
    for mode in (0o1777, 0o777):
        place = Place(mode)
        by_nobody(os.symlink, place.folder, place.public / "link")
        run("inject", "--overwrite", "-i", prepared().data, "--images", f"{place.public}/link/", "-o",
            place.public / "x.data", status=2)
        place.check_unharmed("--images LINK/")


def test_what_an_earlier_run_left_goes_only_when_the_new_one_is_whole():
    directory = scratch("/var/tmp")
    words = ("inject", "-i", prepared().data, "-o", directory / "x.data")
    run(*words, status=0)
    images = directory / "x.data.images"
    first = sorted(os.listdir(images))
    check(first, "there are images")
    (images / "jit-0.so").write_text("of an earlier run")
    (images / "note").write_text("the user's")
    os.symlink(prepared().data, images / "jit-link.so")
    run(*words, status=2)
    run(*words, "--overwrite", status=0)
    equal(sorted(os.listdir(images)), sorted([*first, "jit-link.so", "note"]), "images of the second run")


def test_folder_of_names():
    as_root()
    words = ("record", "-p", prepared().pid, "-e", "cpu-clock", "--duration", "0.05", "-o")
    link = lambda name: lambda place: by_nobody(os.symlink, place.folder, place.public / name)
    for _, path, done in folders("perf.data", words, link("perf.data.jit"), 2, 3):
        check("perf.data.jit" in done.error and not os.path.lexists(path), f"nothing is begun: {done.error}")
    for place, path, _ in folders("perf.data", words,
                                  lambda place: by_nobody(folder_of_his, place.public / "perf.data.jit"), 3):
        equal(sorted(os.listdir(place.public / "perf.data.jit")), ["jit-1-2.dump", "jit-1.so"], "his folder")
        check(not os.path.lexists(path), "nothing is begun")

    def old_one(place):
        (place.public / "perf.data").write_text("old")
        (place.public / "perf.data.jit").mkdir()
        link("perf.data.old.jit")(place)
    for _ in folders("perf.data", words, old_one, 0, 2, 3):
        pass


def test_folder_of_several_images():
    as_root()
    words = ("image", "build", "--force", "-i", prepared().data, "-o")
    for _ in folders("out", words, lambda place: by_nobody(os.symlink, place.folder, place.public / "out"), 2):
        pass
    for place, path, _ in folders("out", words, lambda place: by_nobody(folder_of_his, place.public / "out"), 3):
        equal(sorted(os.listdir(path)), ["jit-1-2.dump", "jit-1.so"], "his folder")
    directory = scratch("/var/tmp")
    run(*words, directory / "out", status=0)
    run(*words, directory / "out", status=0)
    equal(len(os.listdir(directory / "out")), 2, "images of two processes")


def test_store():
    as_root()
    ready = prepared()
    for mode in (0o1777, 0o777):
        for perf, name in (((), ".build-id"), (("--perf",), ".build-id"), (("--perf",), "jitscope")):
            place = Place(mode)
            by_nobody(os.symlink, place.folder, place.public / name)
            done = run("image", "install", *perf, "--debugdir", place.public, ready.image, status=(2, 3))
            place.check_unharmed(f"install {perf} through {name}: {done.error}")
            equal([each for each in place.public.iterdir() if not each.is_symlink()], [], "nothing is left")
        # An image of ours behind a stranger's link is not removed through it.
        place = Place(mode)
        elsewhere = place.private / "elsewhere"
        run("image", "install", "--perf", "--debugdir", elsewhere, ready.image, status=0)
        by_nobody(os.mkdir, place.public / ".build-id")
        by_nobody(os.mkdir, place.public / ".build-id/ab")
        kept = next((elsewhere / "jitscope").glob("*/*"))
        by_nobody(os.symlink, kept, place.public / ".build-id/ab/cdef")
        run("image", "remove", "--debugdir", place.public, "all", status=(1, 2, 3))
        check((kept / "elf").exists(), "the image behind the link")


def test_folder_swapped_while_recording():
    as_root()
    for mode in (0o777,):
        place = Place(mode)
        with start_jit_page() as target:
            path = place.public / "perf.data"
            recording = Run("record", "-p", target.pid, "-e", "cpu-clock", "-o", path)
            names = place.public / "perf.data.jit"
            wait_for(lambda: any(line.startswith("recording ") for line in recording.err), "the recording", 30)
            moved = place.public / "moved"
            by_nobody(os.rename, names, moved)
            by_nobody(os.symlink, place.folder, names)
            target.write_map()
            wait_for(lambda: list(moved.glob("jit-*.dump")), "the names, in the folder that was opened", 30)
            recording.interrupt()
            recording.result(status=(0, 3))
            place.check_unharmed("record, its folder swapped for a link")


def test_what_users_type():
    ready = prepared()
    directory = scratch("/var/tmp")
    for words, status, wanted in (
            (("flame", "-i", ready.data, "-o", "-"), 2, "-.folded"),
            (("flame", "-i", ready.data, "-o", "/dev/stdout"), 2, "-.folded"),
            (("flame", "-i", ready.data, "-o", "/dev/null"), 2, ".html"),
            (("record", "-o", "-", "--", "true"), 2, "-o FILE"),
            (("record", "-o", "/dev/null", "--", "true"), 2, "-o"),
            (("inject", "-i", ready.data, "-o", "-"), 2, "-o FILE"),
            (("inject", "-i", ready.data, "-o", "/dev/stdout"), 2, "-o"),
            (("map", "-p", ready.pid, "-o", "/dev/stdout"), 2, "-o"),
            (("image", "build", "-p", ready.pid, "-o", "-"), 2, "-o FILE"),
            (("image", "build", "-p", ready.pid, "-o", "/dev/null"), 2, "-o"),
            (("map", "-p", ready.pid, "--jitdump", "-o", directory / "none/x"), 1, "none/x"),
            (("flame", "-i", ready.data, "-o", directory / "none/x.html"), 1, "none/x.html")):
        done = run(*words, status=status)
        check(wanted in done.error, f"{words}: says {wanted}: {done.error}")
    equal(os.listdir(directory), [], "nothing is made")
    check(run("flame", "-i", ready.data, "-o", "-.folded", status=0).out, "folded stacks on standard output")
    check(run("map", "-p", ready.pid, "-o", "-", status=0).out, "a map on standard output")
    check(pathlib.Path("/dev/null").is_char_device(), "/dev/null is what it was")


harness.main(test_links, test_links_to_nothing, test_fifos, test_files_of_another_user, test_hard_links,
             test_own_files_are_replaced, test_folder_of_images,
             test_what_an_earlier_run_left_goes_only_when_the_new_one_is_whole, test_folder_of_names,
             test_folder_of_several_images, test_store, test_folder_swapped_while_recording, test_what_users_type)
