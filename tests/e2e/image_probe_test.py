"""Probes on code of mapped images: ReadyToRun methods of .NET, in a single-file program and in loose files, and functions
of Windows programs under Wine, mapped and copied. The targets count their own calls."""

import json
import os
import re
import shutil
import signal
import subprocess

import dotnet
import harness
import wine
from harness import Child, Run, Skip, check, equal, jitscope, scratch, wait_for

CALLS = 20000
# Nobody else calls it.
METHOD = "System.Text.RegularExpressions.Regex.Escape(string)"
HOOK = """
using System; using System.Text.RegularExpressions;
class Work {
  static volatile Func<string, string> escape = Regex.Escape;  // no compiler inlines what it calls
  public static void Run() {
    string line;
    while ((line = Console.ReadLine()) != null) {
      int calls = int.Parse(line.Substring(3));
      int wrong = 0;
      for (int i = 0; i < calls; i++) if (escape("x") != "x") wrong++;
      Console.WriteLine("go " + calls + " errors " + wrong);
    }
  }
}
class StartupHook { public static void Initialize() { Console.WriteLine("ready"); Work.Run(); Environment.Exit(0); } }
class Program { static void Main() { Console.WriteLine("ready"); Work.Run(); } }
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile unsigned sum;
__attribute__((noinline)) unsigned counted(unsigned x) {
  for (int i = 0; i < 3; i++) x = x * 1103515245u + 12345u;
  return x;
}
int main(void) {
  char line[64];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    int calls = atoi(line + 3);
    for (int i = 0; i < calls; i++) sum += counted(sum);
    printf("go %d errors 0\\n", calls);
    fflush(stdout);
  }
  return 0;
}
"""


class Program(Child):
    """A target that calls as often as it is told."""

    def __init__(self, argv, pid=None, **options):
        super().__init__(argv, **options)
        self.expect("ready", 120)
        if pid:
            self.pid = pid()
        self.go(1)  # its images are loaded then

    def go(self, calls):
        self.send(f"go {calls}")
        check(" errors 0" in self.expect(f"go {calls}", 120), "the target is well")


def bundle(**variables):
    return Program([dotnet.bundle8()], env=dotnet.with_hook(dotnet.compiled(HOOK), **variables))


def core20(**variables):
    return Program([dotnet.core20() / "dotnet", dotnet.compiled(HOOK, "Program")],
                   env={**os.environ, **variables})


def windows(file_alignment, stripped=False):
    image = wine.build_of(PROGRAM, "counts.exe", file_alignment, stripped)
    return Program([wine.binary(), image], env=wine.environment(), pid=lambda: wine.pid_of(image)), image


def count(target, name, backend, *words):
    """Calls that are counted, set live; before and after it nothing is different."""
    target.go(10)
    run = Run("trace", "-p", target.pid, "--count", "--json", *words, name)
    started = run.started()
    equal(started["backend"], backend, f"how {name} is caught")
    target.go(CALLS)
    run.interrupt()
    run.result()
    target.go(10)
    return run


def counts_exactly(target, name, backend, *words):
    run = count(target, name, backend, *words)
    equal(run.summaries()[name]["calls"], CALLS, f"calls of {name} by {backend}")
    return run


def test_single_file_program():
    with bundle(DOTNET_TieredCompilation="0") as target:
        counts_exactly(target, METHOD, "uprobe")
        # Again, and two at once.
        first = Run("trace", "-p", target.pid, "--count", "--json", METHOD)
        first.started()
        counts_exactly(target, METHOD, "uprobe")
        first.interrupt()
        equal(first.result().summaries()[METHOD]["calls"], CALLS + 20, "of the other one, which saw all")
        listed = jitscope("methods", "-p", target.pid, "--json").objects("body")
        check(len(listed) > 30000, f"{len(listed)} methods of the images")
        found = [each for each in listed if each["method"] == METHOD]
        equal([(each["tier"], each["source"]) for each in found], [("prejit", "mapped-image")], "the method's body")


def test_calls_with_stacks():
    with bundle(DOTNET_TieredCompilation="0") as target:
        run = Run("trace", "-p", target.pid, "--json", "--stack", "-n", "5", METHOD)
        run.started()
        target.go(50)
        calls = run.result().objects("call")
        equal(len(calls), 5, "calls shown")
        frames = [frame["name"] or "" for frame in calls[0]["stack"]]
        check(any("StartupHook" in each for each in frames), f"callers in other images: {frames}")


def test_tiers_are_said():
    with bundle() as target:
        target.go(100)
        run = count(target, METHOD, "uprobe")
        calls = run.summaries()[METHOD]["calls"]
        check(calls <= CALLS, f"{calls} calls")
        check("compiled anew (tiers)" in run.error, f"what is not seen is said: {run.story()}")
        print(f"note: with tiers {calls} of {CALLS} calls were of the image's code")


def test_map_and_images_together():
    """The JIT's code by its map, the images' from their files; the same method once."""
    with bundle(DOTNET_TieredCompilation="0", DOTNET_PerfMapEnabled="3") as target:
        run = counts_exactly(target, METHOD, "uprobe")
        sites = run.summaries()[METHOD]["sites"]
        equal([site["backend"] for site in sites], ["uprobe"], "one body")
        listed = jitscope("methods", "-p", target.pid, "--json", "Work.Run").objects("body")
        check(listed and listed[0]["source"] == "perf-map", f"the JIT's own: {listed}")


def test_loose_files():
    with core20() as target:
        counts_exactly(target, METHOD, "uprobe")


def test_other_backends_say_why_not():
    with bundle(DOTNET_TieredCompilation="0") as target:
        for backend in ("trampoline", "inplace"):
            run = jitscope("trace", "-p", target.pid, "--count", "--backend", backend, METHOD, status=3)
            check("mapped from a file" in run.error, run.story())


def exposed_of(target, name):
    run = jitscope("expose", "-p", target.pid, "--json", name)
    check("nothing was changed in the process" in run.error, run.story())
    found = run.objects("exposed")
    equal(len(found), 1, "one place")
    check(found[0]["in_place"], "in its own file")
    return found[0]["commands"]


def takes(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, f"{command}: {done.stderr}")


def test_expose_for_bpftrace():
    if not shutil.which("bpftrace"):
        raise Skip("no bpftrace")
    with bundle(DOTNET_TieredCompilation="0") as target:
        equal(bpftrace_counts(target, exposed_of(target, METHOD)["bpftrace"]), CALLS, "bpftrace's count")


def bpftrace_counts(target, command):
    # It prints only when all its probes are attached.
    command = command[:-1] + " interval:ms:20 { printf(\"attached\\n\"); }'"
    with Child(["sh", "-c", command.replace("bpftrace ", "exec bpftrace -B line ", 1)]) as tool:
        tool.expect("attached")
        target.go(CALLS)
        tool.signal(signal.SIGINT)
        equal(tool.finish(), 0, f"bpftrace: {tool.story()}")
        return int(re.search(r"@\w*: (\d+)", "\n".join(tool.out))[1])


def test_symbols_for_tools_that_take_elf_files_only():
    if not shutil.which("bpftrace"):
        raise Skip("no bpftrace")
    with core20() as target:
        equal(exposed_of(target, METHOD)["bpftrace"], "", "it does not take an image")
        before = first_bytes(target, METHOD)
        with Run("expose", "-p", target.pid, "--json", "--symbols", METHOD) as run:
            command = json.loads(run.expect('{"type":"exposed"'))["commands"]["bpftrace"]
            equal(bpftrace_counts(target, command), CALLS, "bpftrace's count")
            run.interrupt()
            run.result()
        equal(first_bytes(target, METHOD), before, "the method's first bytes")
        target.go(10)


def first_bytes(target, name, count=16):
    entry = int(jitscope("methods", "-p", target.pid, "--json", name).objects("body")[0]["entry"], 0)
    with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(entry)
        return memory.read(count)


def test_events_have_names_of_their_own():
    """Overloads, methods of long names, bodies of one name."""
    with bundle(DOTNET_TieredCompilation="0") as target:
        run = jitscope("expose", "-p", target.pid, "--json", "--max", "5000", "System.Text.RegularExpressions.*")
        events = [re.search(r"p:jitscope/(\S+)", each["commands"]["tracefs"])[1] for each in run.objects("exposed")]
        check(len(events) > 400, f"{len(events)} methods")
        equal(len(set(events)), len(events), "event names")
        check(max(map(len, events)) < 64, "what the kernel takes")


def test_a_debuggers_breakpoint_is_left_alone():
    if not shutil.which("gdb"):
        raise Skip("no gdb")
    with bundle(DOTNET_TieredCompilation="0") as target:
        entry = jitscope("methods", "-p", target.pid, "--json", METHOD).objects("body")[0]["entry"]
        with Child(["gdb", "-q", "-nx", "-p", str(target.pid), "-ex", "set pagination off", "-ex", f"break *{entry}",
                    "-ex", "continue"]) as gdb:
            wait_for(lambda: first_byte(target, entry) == b"\xcc", f"gdb's breakpoint: {gdb.argv}")
            run = Run("trace", "-p", target.pid, "--count", "--json", "-d", "1s", METHOD)
            run.finish()
            check("debugger" in run.error, run.story())
            equal(first_byte(target, entry), b"\xcc", "gdb's breakpoint")
            gdb.signal(signal.SIGINT)
            for command in ("delete", "detach", "quit"):
                gdb.send(command)
            gdb.finish()
        wait_for(lambda: first_byte(target, entry) != b"\xcc", "gdb to be gone")
        target.go(10)
        counts_exactly(target, METHOD, "uprobe")


def first_byte(target, entry):
    with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(int(entry, 0))
        return memory.read(1)


def test_expose_for_perf():
    if not shutil.which("perf"):
        raise Skip("no perf")
    with core20() as target:
        commands = exposed_of(target, METHOD)
        takes(commands["perf_probe"])
        try:
            event = re.search(r"-e '(\S+)'", commands["perf_record"])[1]
            out = scratch("/var/tmp") / "stat"
            with Child(["perf", "stat", "-x", ",", "-o", out, "-e", event, "-p", str(target.pid)]) as tool:
                wait_for(lambda: counted_by_kernel(target, event), f"{event} to be armed")
                before = counted_by_kernel(target, event)
                target.go(CALLS)
                tool.signal(signal.SIGINT)
                tool.finish()
            counted = next(int(line.split(",")[0]) for line in out.read_text().splitlines() if event in line)
            equal(counted, CALLS + before, "perf's count")
        finally:
            subprocess.run(["perf", "probe", "-d", "jitscope:*"], capture_output=True, check=False)


def counted_by_kernel(target, event):
    """Calls that were made until the kernel counted the first: it is armed then. 0: not yet."""
    target.go(1)
    name = event.split(":")[1]
    for folder in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        try:
            lines = open(f"{folder}/uprobe_profile", encoding="utf-8").read().splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[1] == name:
                return int(words[2])
    return 0


def test_windows_program_that_is_mapped():
    target, image = windows(4096)
    with target:
        counts_exactly(target, "counted", "uprobe")
        commands = exposed_of(target, "counted")
        check(str(image) in commands["tracefs"], f"{commands}")


def test_windows_program_that_is_copied():
    target, _ = windows(512)
    with target:
        counts_exactly(target, "counted", "trampoline")
        counts_exactly(target, "counted", "inplace", "--backend", "inplace")


def test_stripped_windows_program():
    rva = wine.symbols(wine.build_of(PROGRAM, "counts.exe", 4096), "counted")["counted"]
    target, image = windows(4096, stripped=True)
    with target:
        counts_exactly(target, f"{image.name}+{rva:#x}", "uprobe")


def test_killed():
    """The kernel takes its breakpoint away; the target calls on."""
    with bundle(DOTNET_TieredCompilation="0") as target:
        before = first_bytes(target, METHOD)
        run = Run("trace", "-p", target.pid, "--count", "--json", METHOD)
        run.started()
        target.go(100)
        run.kill()
        wait_for(lambda: first_bytes(target, METHOD) == before, "the breakpoint to be gone")
        target.go(CALLS)
        counts_exactly(target, METHOD, "uprobe")


if __name__ == "__main__": harness.main(test_single_file_program, test_calls_with_stacks, test_tiers_are_said, test_map_and_images_together,
             test_loose_files, test_other_backends_say_why_not, test_expose_for_bpftrace,
             test_symbols_for_tools_that_take_elf_files_only, test_events_have_names_of_their_own,
             test_a_debuggers_breakpoint_is_left_alone, test_expose_for_perf,
             test_windows_program_that_is_mapped, test_windows_program_that_is_copied,
             test_stripped_windows_program, test_killed)
