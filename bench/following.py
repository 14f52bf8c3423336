#!/usr/bin/env python3
"""What it costs to follow the code of a process: the CPU time of jitscope itself, in percent of one core.

    bench/following.py [--seconds N] [--targets idle-jvm,...] [--commands trace,...]

Each of `trace --count`, `trace`, `expose` and `record -p` runs beside each of a JVM and a Node that do nothing, and of
a JVM and a Node that work (bench/Following.java, bench/following.js: half a core, and new code every quarter of a
second) and are some seconds old, for N seconds (15), from 3 s after its start on. The CPU time is what the kernel's scheduler counted for the
threads of jitscope (/proc/PID/task/*/schedstat, nanoseconds). Of `record` two figures: its follower thread alone, and
all of it, with the samples. What was found is printed beside what is wanted; the exit status tells only of errors.

Environment: JITSCOPE. Needs root, a JDK with its compiler (JAVA_HOME or the `java` in PATH) and Node.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
JITSCOPE = os.environ.get("JITSCOPE", str(HERE.parent / "build/release/jitscope"))
METHOD = {"jvm": "Following.handle", "node": "handle"}
COMMANDS = {
    "trace --count": lambda pid, kind, directory: ["trace", "-p", pid, "--count", METHOD[kind]],
    "trace": lambda pid, kind, directory: ["trace", "-p", pid, METHOD[kind]],
    "expose": lambda pid, kind, directory: ["expose", "-p", pid, METHOD[kind]],
    "record": lambda pid, kind, directory: ["record", "-p", pid, "-o", directory / "perf.data"],
}
TARGETS = ("idle-jvm", "idle-node", "busy-jvm", "busy-node")
WANTED = {"idle": 0.2, "busy": 1.0}
WARM = 3  # seconds
AGE = 12  # seconds: a program that is starting is looked at more often


def java():
    home = os.environ.get("JAVA_HOME")
    return str(pathlib.Path(home) / "bin/java") if home else shutil.which("java")


def start(target, directory):
    mode, kind = target.split("-")
    if kind == "jvm":
        compiler = pathlib.Path(os.path.realpath(java())).with_name("javac")
        subprocess.run([compiler, "-d", directory, HERE / "Following.java"], check=True)
        words = [java(), "-Xmx256m", "-cp", directory, "Following", mode]
    else:
        words = ["node", "--perf-basic-prof", HERE / "following.js", mode]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, cwd=directory)
    if not process.stdout.readline().startswith("ready"):
        sys.exit(f"{target} did not start")
    return process


def cpu_by_thread(pid):
    """{thread: nanoseconds}; the first one is the main thread."""
    found = {}
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir(), key=lambda task: int(task.name)):
        found[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return found


def measure(process, kind, command, seconds, directory):
    """{what: percent of a core}."""
    words = [JITSCOPE, *map(str, COMMANDS[command](process.pid, kind, directory))]
    with open(directory / "errors", "w+", encoding="utf-8") as errors:
        run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            time.sleep(WARM)
            before, began = cpu_by_thread(run.pid), time.monotonic()
            time.sleep(seconds)
            if run.poll() is not None:
                errors.seek(0)
                sys.exit(f"{' '.join(words)} ended: {errors.read()}")
            after, passed = cpu_by_thread(run.pid), time.monotonic() - began
            run.send_signal(signal.SIGINT)
            run.wait(30)
        finally:
            if run.poll() is None:
                run.kill()
            run.wait()
    used = {tid: 100 * (total - before.get(tid, 0)) / 1e9 / passed for tid, total in after.items()}
    everything = sum(used.values())
    if command != "record":
        return {command: everything}
    return {"record: follower": everything - used[run.pid], "record: all": everything}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("node") or not java():
        print("skipped: needs root, a JDK and Node")
        sys.exit(77)
    for target in options.targets.split(","):
        mode, kind = target.split("-")
        with tempfile.TemporaryDirectory(prefix="following-") as directory:
            process = start(target, pathlib.Path(directory))
            try:
                time.sleep(AGE)
                for command in options.commands.split(","):
                    figures = measure(process, kind, command, options.seconds, pathlib.Path(directory))
                    for what, percent in figures.items():
                        wanted = "" if what == "record: all" else f" (wanted: {WANTED[mode]} %)"
                        print(f"{target:<10} {what:<17} {percent:6.3f} % of a core{wanted}", flush=True)
            finally:
                process.kill()
                process.wait()


main()
