"""Files and memory of strangers that would take for ever to read: debug files of terabytes, a file system that
does not answer, perf maps of millions of lines, a libjvm whose tables have no end. They cost the names of
those who made them; jitscope ends, in bounded memory, takes its probes away, and says what it left out."""

import os
import pathlib
import shutil
import subprocess
import sys

import harness
from harness import Child, Run, Skip, check, equal, scratch, wait_for
from profiles import run_jitscope
from runtimes import PageTarget, jit_page
from silent_files import SilentFiles

LIMIT = 90
MEMORY = 1 << 30


def tools(*names):
    for name in names:
        if shutil.which(name) is None:
            raise Skip(f"{name} is not installed")


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, **options)


def with_endless_debug_file(program, folder):
    """A stripped copy of a program, called `node`, whose debug file is 8 TiB of holes."""
    tools("objcopy", "strip")
    copy, debug = folder / "node", folder / "node.debug"
    shutil.copy(program, copy)
    run("objcopy", "--only-keep-debug", copy, debug)
    run("strip", copy)
    run("objcopy", f"--add-gnu-debuglink={debug}", copy)
    try:
        os.truncate(debug, 8 << 40)
    except OSError as error:
        raise Skip(f"no file of 8 TiB can be made here: {error}") from None
    return copy


def trace_with_callers(target, before=lambda: None, after=lambda: None):
    """Calls traced with their callers, jumps in place; what jitscope said, after the probes were taken away."""
    target.write_map()
    entries = [target.memory(target.entry(k), 16) for k in range(target.count)]
    trace = Run("trace", "-p", target.pid, "--stack", "--json", "--limit", 0, "--backend", "trampoline",
                "page_f*")
    trace.started()
    check(target.memory(target.entry(0), 16) != entries[0], "a jump was put at the entry")
    before()
    target.go("go 10")
    trace.interrupt()
    trace.expect('{"type":"summary"')
    equal([target.memory(target.entry(k), 16) for k in range(target.count)], entries, "entries put back")
    # The kernel itself lets no thread go whose request a FUSE server took: not even at its end.
    after()
    trace.result(limit=60)
    equal({name: each["calls"] for name, each in trace.summaries().items()},
          {f"page_f{k}": 10 for k in range(target.count)}, "calls")
    calls = trace.objects("call")
    equal(len(calls), 10 * target.count, "calls printed")
    target.go("go 10")
    target.check_sound()
    return trace, calls


def start_as_node(path):
    # Called so and started so, its code counts as code that stays in place: it gets trampolines.
    return PageTarget([path, "--perf-basic-prof"])


def test_trace_beside_an_endless_debug_file():
    with start_as_node(with_endless_debug_file(jit_page(), scratch("/var/tmp"))) as target:
        _, calls = trace_with_callers(target)
        check(all(call["stack"] for call in calls), f"callers, though without names: {calls[0]}")
        reasons = {frame.get("reason") for call in calls for frame in call["stack"] if not frame.get("name")}
        check(any("node.debug is 8.0 TiB large" in (reason or "") for reason in reasons),
              f"the reason names the file: {reasons}")


def test_trace_while_a_file_system_does_not_answer():
    with SilentFiles("node", pathlib.Path(jit_page()).read_bytes()) as files:
        with start_as_node(files.path) as target:
            target.go("go 10")
            trace, calls = trace_with_callers(target, before=files.silence, after=files.abort)
            equal({call["stack_end"] for call in calls},
                  {"not named: naming took too long"}, "what stands for the callers")
            check("naming them took too long" in trace.error, trace.error)


SPIN = """
int main(void) { volatile double x = 1; for (;;) x = x * 1.0000001 + 1; }
"""


def test_report_beside_an_endless_debug_file():
    tools("gcc")
    folder = scratch("/var/tmp")
    (folder / "spin.c").write_text(SPIN)
    run("gcc", "-g", "-O1", "-o", folder / "spin", folder / "spin.c")
    program = with_endless_debug_file(folder / "spin", folder)
    data = folder / "perf.data"
    run_jitscope("record", "--duration", "0.5", "-o", data, "--", program, status=(0,), limit=LIMIT)
    told = run_jitscope("report", "-i", data, limit=LIMIT, memory=MEMORY)
    check("node.debug is 8.0 TiB large" in told.stderr, f"report says what it left out: {told.stderr}")
    doctor = run_jitscope("doctor", "-i", data, limit=LIMIT, memory=MEMORY)
    check("not all symbols of the ELF file were read" in doctor.stdout, doctor.stdout)


JIT = """
import ctypes, mmap, os, sys
page = mmap.mmap(-1, 64 << 20, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file:
    for first in range(0, int(sys.argv[1]), 1 << 16):
        file.write("".join(f"{start + i % (64 << 20):x} 1 f{i:x}\\n" for i in range(first, first + (1 << 16))))
        file.write("x\\n" * (1 << 16))
print("ready", flush=True)
sys.stdin.read()
"""
LINES = 5 << 19


class Mapped:
    """A process with a perf map of millions of lines, each of one byte of code."""

    def __init__(self, lines=LINES):
        self.child = Child([sys.executable, "-c", JIT, lines])
        self.pid = self.child.pid
        self.path = pathlib.Path(f"/tmp/perf-{self.pid}.map")

    def __enter__(self):
        self.child.expect("ready", 120)
        return self

    def __exit__(self, *ignored):
        self.child.kill()
        self.path.unlink(missing_ok=True)


def test_methods_of_a_map_of_one_byte_lines():
    with Mapped() as target:
        told = run_jitscope("methods", "-p", target.pid, "nothing", limit=LIMIT, memory=MEMORY)
        check("f0" not in told.stdout, told.stdout[:200])
        listed = run_jitscope("methods", "-p", target.pid, "--json", "f1", limit=LIMIT, memory=MEMORY)
        check("largest number of code bodies" in listed.stderr or "had no time" in listed.stderr,
              f"it says what it left out: {listed.stderr[-500:]}")


def test_record_ends_beside_a_map_of_one_byte_lines():
    folder = scratch("/var/tmp")
    with Mapped() as target:
        record = Run("record", "-p", target.pid, "-o", folder / "perf.data")
        wait_for(lambda: "recording" in record.error, "the recording", 60)
        record.interrupt()
        equal(record.finish(LIMIT), 0, f"exit status; {record.story()}")
        check("code bodies" in record.error or "were not read" in record.error, record.error)


LIES = """
#include <string.h>
#include <stdint.h>
// Every entry is the first one: a table that has no end.
static const char* name = "Klass";
static struct { const char* type; const char* field; } entries[1 << 22];
void* gHotSpotVMStructs = entries;
uint64_t gHotSpotVMStructEntryTypeNameOffset = 0, gHotSpotVMStructEntryFieldNameOffset = 8,
         gHotSpotVMStructEntryTypeStringOffset = 8, gHotSpotVMStructEntryIsStaticOffset = 8,
         gHotSpotVMStructEntryOffsetOffset = 8, gHotSpotVMStructEntryAddressOffset = 8,
         gHotSpotVMStructEntryArrayStride = 16;
void lie(void) {
  for (unsigned i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
    entries[i].type = entries[i].field = name;
  }
}
"""
LIAR = """
import ctypes, mmap, sys
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
ctypes.CDLL(sys.argv[1]).lie()
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_libjvm_whose_tables_have_no_end():
    tools("gcc")
    folder = scratch("/var/tmp")
    (folder / "lies.c").write_text(LIES)
    library = folder / "libjvm.so"
    run("gcc", "-shared", "-fPIC", "-o", library, folder / "lies.c")
    with Child([sys.executable, "-c", LIAR, library]) as liar:
        liar.expect("ready")
        run_jitscope("ps", limit=LIMIT, memory=MEMORY)
        told = run_jitscope("methods", "-p", liar.pid, status=(3,), limit=LIMIT, memory=MEMORY)
        check("has no end" in told.stderr, told.stderr)
        told = run_jitscope("trace", "-p", liar.pid, "--count", "a.b", status=(3,), limit=LIMIT, memory=MEMORY)
        check("has no end" in told.stderr, told.stderr)
        told = run_jitscope("record", "-p", liar.pid, "--duration", "0.5", "-o", folder / "perf.data",
                            status=(0,), limit=LIMIT, memory=MEMORY)
        check(f"process {liar.pid}" in told.stderr, told.stderr)


harness.main(test_trace_beside_an_endless_debug_file, test_trace_while_a_file_system_does_not_answer,
             test_report_beside_an_endless_debug_file, test_methods_of_a_map_of_one_byte_lines,
             test_record_ends_beside_a_map_of_one_byte_lines, test_a_libjvm_whose_tables_have_no_end)
