"""The Debian package, as a user has it: installed into a fresh Debian 12, run there, removed without a trace.

The package is made of the build that is tested. The fresh system (mmdebstrap) has what the package says that
it needs, besides what every Debian has; it is kept beside the build as a tar file, since making it takes a
minute, and unpacked anew each time. What runs in it does so in a mount namespace of its own, so that no
mount is left over, whatever happens."""

import hashlib
import os
import pathlib
import shutil
import subprocess

import harness
from harness import Child, Skip, check, equal, scratch, wait_for
from runtimes import PageTarget, jdks, jit_page, start_java, warm

BUILD = pathlib.Path(harness.JITSCOPE).resolve().parent
# `ENTER ROOT WORD...` runs WORD... in ROOT.
ENTER = ["unshare", "--mount", "sh", "-c",
         'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"']
# What the system keeps for itself.
OWN_FILES = ("/var/lib/dpkg/", "/var/cache/", "/var/log/", "/var/lib/apt/", "/proc", "/sys", "/dev", "/tmp/")


def run(*words, status=0, limit=300):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=limit * harness.TIME_FACTOR, check=False)
    equal(done.returncode, status, f"{' '.join(map(str, words))}: {done.stdout[-600:]}{done.stderr[-1500:]}")
    return done


class Root:
    """A fresh system."""

    def __init__(self, archive):
        self.path = scratch("/var/tmp") / "root"
        self.path.mkdir()
        run("tar", "-xf", archive, "-C", self.path, "--exclude=./dev/*")

    def start(self, *words):
        return Child([*ENTER, self.path, *words])

    def run(self, *words, status=0):
        return run(*ENTER, self.path, *words, status=status)

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.path):
            found.update("/" + os.path.relpath(os.path.join(folder, name), self.path) for name in folders + names)
        return {name for name in found if not name.startswith(OWN_FILES)}


def preconditions():
    if os.geteuid() != 0:
        raise Skip("needs root")
    for tool in ("mmdebstrap", "unshare", "cpack", "dpkg-deb", "dpkg-shlibdeps", "file"):
        if not shutil.which(tool):
            raise Skip(f"no {tool} in PATH")
    if not (BUILD / "CPackConfig.cmake").exists() or not (BUILD / "man/jitscope.1").exists():
        raise Skip(f"no whole build in {BUILD}")
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
        raise Skip("no right to make namespaces")


def package():
    """The .deb, made anew when what is in it is newer."""
    folder = BUILD / "package_test"
    made = sorted(folder.glob("*.deb"))
    inside = [harness.JITSCOPE, BUILD / "CPackConfig.cmake", BUILD / "man/jitscope.1", BUILD / "libjitscope-agent.so"]
    newest = max(os.stat(path).st_mtime for path in inside if os.path.exists(path))
    if len(made) != 1 or made[0].stat().st_mtime < newest:
        for each in made:
            each.unlink()
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
        shutil.rmtree(folder / "_CPack_Packages", ignore_errors=True)
    return sorted(folder.glob("*.deb"))[-1]


def field(deb, name):
    return run("dpkg-deb", "-f", deb, name).stdout.strip()


def fresh_system(deb):
    needed = sorted(each.split("(")[0].strip() for each in field(deb, "Depends").split(","))
    include = ",".join(["mandoc", *needed])
    archive = deb.parent / f"debian-{hashlib.sha256(include.encode()).hexdigest()[:12]}.tar"
    if not archive.exists():
        part = archive.with_suffix(".part.tar")
        try:
            made = subprocess.run(
                ["mmdebstrap", "--variant=essential", f"--include={include}", "--aptopt=Acquire::Languages none",
                 "--aptopt=Acquire::Retries 2", "--dpkgopt=force-unsafe-io", "bookworm", str(part)],
                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=420 * harness.TIME_FACTOR, check=False)
        except subprocess.TimeoutExpired:
            raise Skip("mmdebstrap does not end within seven minutes: the mirror or this machine is slow") from None
        if made.returncode != 0:
            part.unlink(missing_ok=True)
            lines = [line for line in made.stderr.splitlines() if line.startswith(("E:", "Err:"))]
            raise Skip(f"mmdebstrap made no Debian 12: {' '.join(lines[:3])[:300]}")
        part.rename(archive)
    return Root(archive)


def test_fields(deb):
    run("dpkg-deb", "--info", deb)
    for name in ("Package", "Version", "Architecture", "Maintainer", "Section", "Depends", "Description"):
        check(field(deb, name), f"no {name}")
    if shutil.which("lintian"):
        # One error is enough; what it only advises is not its package.
        run("lintian", "--allow-root", "--fail-on", "error", deb)
    else:
        print("note: no lintian: the package is not checked by it")


def test_what_is_there(root):
    version = root.run("jitscope", "--version").stdout
    check(version.startswith("jitscope 0."), version)
    check("record" in root.run("jitscope", "help").stdout, "the list of commands")
    equal(root.run("jitscope", "help", "trace").stdout, root.run("jitscope", "trace", "--help").stdout, "help")
    for page in ("jitscope", "jitscope-record", "jitscope-image"):
        equal(root.run("mman", "-w", page).stdout.strip(), f"/usr/share/man/man1/{page}.1.gz", "man -w")
    check("perf.data" in root.run("mandoc", "-Tutf8", "/usr/share/man/man1/jitscope-record.1.gz").stdout, "the page")
    run("gzip", "-t", root.path / "usr/share/doc/jitscope/changelog.gz")
    completion = "/usr/share/bash-completion/completions/jitscope"
    offered = root.run("bash", "-c", f"source {completion}; COMP_WORDS=(jitscope rec); COMP_CWORD=1; _jitscope; echo ${{COMPREPLY[@]}}")
    equal(offered.stdout.strip(), "record", "completion")
    agent = root.run("jitscope", "agent", "path", status=0 if (BUILD / "libjitscope-agent.so").exists() else 1)
    if agent.returncode == 0:
        equal(agent.stdout.strip(), "/usr/lib/jitscope/libjitscope-agent.so", "the agent")
        # A folder that others may write to is no place to take it from.
        os.chmod(root.path / "usr/lib/jitscope", 0o777)
        check("others may write" in root.run("jitscope", "agent", "path", status=1).stderr, "the agent of others")
        os.chmod(root.path / "usr/lib/jitscope", 0o755)


def test_a_profile(root):
    """Of a JIT's target in the same root."""
    shutil.copy(jit_page(), root.path / "target")
    with PageTarget([*ENTER, root.path, "/target"]) as target:
        (root.path / f"tmp/perf-{target.pid}.map").write_text(target.map_text())
        record = root.start("jitscope", "record", "-p", target.pid, "-o", "/tmp/perf.data")
        wait_for(lambda: any(line.startswith("recording ") for line in record.err) or not record.running(), "the recording")
        if not record.running() and "perf_event_open" in "\n".join(record.err):
            raise Skip("no recording here: " + record.err[0])
        def sampled():
            target.go("go 200000")
            return (root.path / "tmp/perf.data").stat().st_size > 30000
        wait_for(sampled, "samples")
        record.signal(2)
        equal(record.finish(), 0, f"record: {record.story()}")
    check("page_f" in root.run("jitscope", "report", "-i", "/tmp/perf.data").stdout, "the report names the functions")
    root.run("jitscope", "flame", "-i", "/tmp/perf.data", "-o", "/tmp/cpu.html")
    check((root.path / "tmp/cpu.html").stat().st_size > 10000, "the page")


def test_a_trace(root):
    """Of a JVM that runs outside of the root."""
    found = jdks()
    if not found:
        raise Skip("no JDK: nothing is traced from the fresh system")
    with start_java(found[min(found)], "TruthMain", dontinline="Truth*::*") as target:
        warm(target, ["Truth.fixed(int)"], "c2")
        with root.start("jitscope", "trace", "-p", target.pid, "--json", "--max-events", "2", "Truth.fixed") as trace:
            trace.expect('{"type":"started"')
            target.go("warm 1000")
            equal(trace.finish(), 0, f"trace: {trace.story()}")
            equal(sum(line.startswith('{"type":"call"') for line in trace.out), 2, "calls")
        target.check_sound()


def test_package():
    preconditions()
    deb = package()
    test_fields(deb)
    root = fresh_system(deb)
    before = root.files()
    shutil.copy(deb, root.path / "tmp/jitscope.deb")
    root.run("dpkg", "-i", "/tmp/jitscope.deb")
    skipped = []
    for test in (test_what_is_there, test_a_profile, test_a_trace):
        try:
            test(root)
        except Skip as reason:
            skipped.append(f"{test.__name__}: {reason}")
    (root.path / "target").unlink(missing_ok=True)
    root.run("dpkg", "--purge", "jitscope")
    equal(sorted(root.files() - before), [], "what is left of it")
    equal(sorted(before - root.files()), [], "what went with it")
    for reason in skipped:
        print(f"SKIP: {reason}")


harness.main(test_package)
