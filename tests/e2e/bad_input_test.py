"""Wrong words, wrong pids, and map files that are damaged or not to be trusted: an exit status and a
message that says what to do, never a crash or a hang."""

import json
import os
import random
import shutil
import subprocess

import harness
from harness import Child, Skip, bodies, check, equal, jitscope, scratch
from runtimes import java_command, jdks, start_java, start_jit_page, warm

NOBODY = 65534


def complaint(*words, status, parts=(), **options):
    """Runs it; it must fail so and say so on stderr, with nothing on stdout."""
    run = jitscope(*words, status=status, limit=20, **options)
    equal(run.out, [], f"{words}: stdout")
    check(run.error.strip(), f"{words}: no message")
    for part in parts:
        check(part in run.error, f"{words}: no {part!r} in the message: {run.error}")
    return run


def test_usage():
    with start_jit_page() as target:
        target.write_map()
        for words in (["nonsense"], ["methods"], ["trace", "-p", target.pid],
                      ["trace", "-p", "abc", "f"], ["trace", "-p", target.pid, "--backend", "magic", "f"],
                      ["trace", "-p", target.pid, "--duration", "-1", "f"], ["expose", "-p", target.pid],
                      ["trace", "-p", target.pid, "broken("], ["methods", "-p", target.pid, "--nonsense"]):
            complaint(*words, status=2)
    run = jitscope("--help")
    check("trace" in "\n".join(run.out), "the help names the commands")


def test_no_such_process():
    gone = subprocess.Popen(["true"])
    gone.wait()
    complaint("methods", "-p", gone.pid, status=1, parts=[str(gone.pid)])
    complaint("trace", "-p", gone.pid, "f", status=1, parts=[str(gone.pid)])
    complaint("expose", "--undo", "-p", gone.pid, status=1, parts=[str(gone.pid)])


def test_process_without_jit_code():
    with Child(["sleep", "1000"]) as sleeper:
        complaint("methods", "-p", sleeper.pid, status=(1, 3))
        complaint("trace", "-p", sleeper.pid, "f", status=(1, 3))


def test_another_users_process():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    # Where nobody may run it.
    binary = shutil.copy(harness.JITSCOPE, scratch() / "jitscope")
    os.chmod(binary, 0o755)
    with start_jit_page() as target:
        target.write_map()
        for words in (["trace", "-p", target.pid, "--count", "page_f0"], ["expose", "-p", target.pid, "page_f0"],
                      ["methods", "-p", target.pid]):
            with Child(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", binary,
                        *map(str, words)]) as run:
                equal(run.finish(20), 3, f"{words}: status; {run.story()}")
                text = "\n".join(run.err)
                check("CAP_SYS_PTRACE" in text or "root" in text, f"{words}: what is missing: {text}")
        target.go("go 1000")
        target.check_sound()


def test_an_ordinary_user_is_offered_what_he_may_do():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    binary = shutil.copy(harness.JITSCOPE, scratch() / "jitscope")
    os.chmod(binary, 0o755)
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    java = max(jdks().items())[1]
    with harness.Target([*nobody, *java_command(java, "TruthMain", dontinline="Truth*::*")]) as target:
        warm(target, ["Truth.fixed(int)"], "c2")

        def listed(*prefix):
            with Child([*prefix, str(binary), "ps", "--json"]) as run:
                equal(run.finish(60), 0, f"ps: {run.story()}")
                found = [json.loads(line) for line in run.out]
                return next(each for each in found if each["pid"] == target.pid)
        own = listed(*nobody)
        equal(own["backends"], [], "the kernel's probes are not for everybody")
        equal([each["backend"] for each in own["withheld"]], ["trampoline", "breakpoint"], "what others may do")
        for each in own["withheld"]:
            check("CAP_" in each["reason"] or "root" in each["reason"], f"the reason: {each}")
        # What is said is what happens.
        with Child([*nobody, str(binary), "trace", "-p", str(target.pid), "--count", "--duration", "1", "Truth.fixed"]) as run:
            equal(run.finish(60), 3, f"trace: {run.story()}")
        with Child([*nobody, str(binary), "expose", "-p", str(target.pid), "--keep", "Truth.fixed"]) as run:
            equal(run.finish(60), 0 if own["exposable"] else 3, f"expose: {run.story()}")
        jitscope("expose", "--undo", "-p", target.pid, status=(0, 1))
        root = listed()
        equal((root["backends"], root["withheld"], root["exposable"]), (["trampoline", "breakpoint"], [], True), "root")
        target.go("go 1000")
        target.check_sound()


def test_nothing_matches():
    for java in jdks().values():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, ["Truth.fixed(int)"], "c2")
            for words in (["methods"], ["trace", "--count"], ["expose"]):
                complaint(words[0], "-p", target.pid, *words[1:], "Truth.fixd", status=1, parts=["Truth.fixed"])


def test_too_many_methods():
    for java in jdks().values():
        with start_java(java, "TruthMain") as target:
            run = jitscope("trace", "-p", target.pid, "--count", "java.*", status=(2, 3), limit=20)
            check("--max" in run.error, f"the way out: {run.error}")
            target.check_sound()


def test_junk_map():
    rng = random.Random(1)
    with start_jit_page() as target:
        good = target.map_text().splitlines()
        junk = ["", "\0" * 10, "zzz 10 name", "10", "10 20", f"{target.page:x} ffffffffffffffffff long",
                f"{2**64 - 8:x} 100 wraps", f"{target.page:x} 0 empty", "-5 10 negative", "name only",
                f"{target.page + 3000:x} 10 " + "x" * 100_000, " ".join(["a"] * 50)]
        lines = junk + good + junk + [good[0]]
        rng.shuffle(lines)
        with open(target.map_path, "wb") as file:
            file.write("\n".join(lines).encode() + b"\n")
            file.write(bytes(rng.randrange(256) for _ in range(20_000)) + b"\n")
            file.write("\n".join(good).encode() + b"\n")
            file.write(f"{target.page:x} 8 cut".encode()[:-5])
        names = {body["method"] for body in bodies(target, status=0)}
        equal({f"page_f{k}" for k in range(target.count)} - names, set(), "good lines that were not read")
        target.go("go 10")


def refused(target, *parts):
    complaint("methods", "-p", target.pid, status=3, parts=parts)
    complaint("trace", "-p", target.pid, "--count", "page_f0", status=3)


def test_map_that_is_a_symlink():
    with start_jit_page() as target:
        elsewhere = scratch() / "map"
        elsewhere.write_text(target.map_text())
        os.symlink(elsewhere, target.map_path)
        refused(target, "symbolic link")
        target.check_sound()


def test_map_that_is_a_fifo():
    with start_jit_page() as target:
        os.mkfifo(target.map_path)
        refused(target)
        target.check_sound()


def test_map_of_another_user():
    if os.geteuid() != 0:
        raise Skip("needs root to give a file away")
    with start_jit_page() as target:
        os.chown(target.write_map(), NOBODY, NOBODY)
        refused(target, "--force")
        run = jitscope("methods", "-p", target.pid, "--force", "--json")
        equal(len(run.objects("body")), target.count, "methods with --force")


harness.main(test_usage, test_no_such_process, test_process_without_jit_code, test_another_users_process,
             test_an_ordinary_user_is_offered_what_he_may_do, test_nothing_matches, test_too_many_methods, test_junk_map, test_map_that_is_a_symlink,
             test_map_that_is_a_fifo, test_map_of_another_user)
