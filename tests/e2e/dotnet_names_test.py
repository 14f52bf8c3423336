"""Recordings of real .NET programs: what runs from ReadyToRun images has names, in a single-file program and in loose
files, whether the runtime writes a map or not, with and without tiers, attached late; what the JIT compiled has the
names of the runtime's map, and what the runtime made for itself has names, too. perf's own share stands beside it.
"""

import collections
import os
import pathlib

import dotnet
import harness
import profiles
from harness import check, jitscope, scratch
from inject_test import agree, inject

NAMELESS = 0.003       # of the user samples in ReadyToRun code; attached late:
NAMELESS_LATE = 0.005
STUBS = 0.003          # of the user samples in memory, where what the runtime made for itself has names, too
KERNEL = 1 << 63

HOOK = """
using System; using System.Collections.Generic; using System.Diagnostics; using System.Text;
using System.Text.RegularExpressions;
class Work {
  public static void Run(double seconds) {
    var clock = Stopwatch.StartNew();
    long found = 0;
    while (clock.Elapsed.TotalSeconds < seconds) {
      var list = new List<string>();
      for (int i = 0; i < 2000; i++) list.Add("item " + (i * 7919 % 2003));
      list.Sort(StringComparer.Ordinal);
      var lengths = new Dictionary<string, int>();
      foreach (var each in list) lengths[each] = each.Length;
      var text = new StringBuilder();
      foreach (var each in lengths) text.Append(each.Key).Append(each.Value);
      found += Regex.Matches(text.ToString(), "it[a-z]+ (\\\\d+)").Count;
      found += Calls();
    }
    Console.WriteLine("found " + found);
  }
  // Through what the runtime makes: a thunk for a static method, stubs for interfaces and for a boxed value.
  interface IShape { int Area(int x); }
  class Square : IShape { public int Area(int x) { return x * x; } }
  class Strip : IShape { public int Area(int x) { return x * 3; } }
  struct Scaled : IShape { public int by; public int Area(int x) { return x * by; } }
  static int Add(int a, int b) { return a + b; }
  static Func<int, int, int> add = Add;
  static Func<int, int> scaled = new Scaled { by = 2 }.Area;
  static IShape[] shapes = { new Square(), new Strip(), new Scaled { by = 5 } };
  static long Calls() {
    long sum = 0;
    for (int i = 0; i < 20000; i++) sum += add(i, 3) + scaled(i) + shapes[i % 3].Area(i);
    return sum;
  }
}
class StartupHook {
  public static void Initialize() {
    Console.WriteLine("ready");
    Work.Run(double.Parse(Environment.GetEnvironmentVariable("HOOK_SECONDS")));
    Environment.Exit(0);
  }
}
class Program { static void Main(string[] words) { Console.WriteLine("ready"); Work.Run(double.Parse(words[0])); } }
"""

def bundle(seconds, **variables):
    return [dotnet.bundle8()], dotnet.with_hook(dotnet.compiled(HOOK), HOOK_SECONDS=str(seconds), **variables)


def core20(seconds, **variables):
    return [dotnet.core20() / "dotnet", dotnet.compiled(HOOK, "Program"), seconds], {**os.environ, **variables}


def recorded(argv, environment):
    data = scratch("/var/tmp") / "perf.data"
    jitscope("record", "-o", data, "-e", "cpu-clock", "-F", "999", "--", *argv, env=environment, limit=120)
    return data


def attached(argv, environment):
    data = scratch("/var/tmp") / "perf.data"
    with harness.Child(argv, env=environment) as child:
        child.expect("ready", 120)
        jitscope("record", "-o", data, "-e", "cpu-clock", "-F", "999", "-d", "3s", "-p", child.process.pid, limit=120)
    return data


def base(dso):
    return pathlib.PurePath(dso or "").name


def told(label, data, limit=NAMELESS, stubs=STUBS, ngen=()):
    """Counts of the user samples by where they are: in ReadyToRun images, in memory, in native code. Thunks of images
    of NGEN have no names, not even bounds.
    """
    counts = collections.Counter()
    own = set()
    perf_names = perf_named(data)
    seen = collections.Counter()
    for each in profiles.jitscope_samples(data):
        if each.ip >= KERNEL or not each.frames:
            continue
        leaf = each.leaf
        name, source, dso = leaf.get("method"), leaf.get("source"), base(leaf.get("dso"))
        where = ("native" if dso in ngen else
                 "image" if source == "readytorun" or "PE image" in leaf.get("reason", "") else
                 "memory" if source in ("perf map", "jitdump", "recording") or dso.startswith(("perf-", "[", "//", "memfd"))
                 else "native")
        if "vdso" in dso:
            where = "native"
        counts[where] += 1
        counts[where, bool(name)] += 1
        if where == "memory" and name and name.startswith("["):
            own.add(name)
        if where == "image":
            seen[name and name.rsplit("(", 1)[0]] += 1
    total = sum(counts[where] for where in ("image", "memory", "native"))
    check(total > 1000, f"{label}: {counts}")
    print(f"     {label}: {total} user samples: in images {counts['image']} ({counts['image', False]} without a name), "
          f"in memory {counts['memory']} ({counts['memory', False]}), native {counts['native']} "
          f"({counts['native', False]}); perf names {perf_names:.1%}")
    check(counts["image", False] <= limit * total, f"{label}: {counts}")
    check(counts["memory", False] <= stubs * total, f"{label}: {counts}")
    print(f"     {label}: {' '.join(sorted(own))}")
    return seen, own


def perf_named(data):
    named = total = 0
    for each in profiles.perf_script(data):
        if each.ip < KERNEL and each.frames:
            total += 1
            named += each.frames[0].symbol != "[unknown]"
    return named / max(1, total)


def single_file_program_of_net_8():
    expected = {"System.Collections.Generic.ArraySortHelper<System.__Canon>.PickPivotAndPartition",
                "System.Text.RegularExpressions.RegexInterpreter.TryMatchAtCurrentPosition"}
    for label, variables in (("no variable, TC=0", {"DOTNET_TieredCompilation": "0"}),
                             ("map=3, TC=0", {"DOTNET_TieredCompilation": "0", "DOTNET_PerfMapEnabled": "3"}),
                             ("map=3", {"DOTNET_PerfMapEnabled": "3"}),
                             ("map=1", {"DOTNET_PerfMapEnabled": "1"}),
                             ("map=1, TC=0", {"DOTNET_TieredCompilation": "0", "DOTNET_PerfMapEnabled": "1"}),
                             ("map=3, W^X=0", {"DOTNET_EnableWriteXorExecute": "0", "DOTNET_PerfMapEnabled": "3"})):
        seen, own = told(label, recorded(*bundle(3, **variables)), stubs=STUBS if "map" in label else 1)
        check("[ShuffleThunk]" in own, f"{label}: {own}")
        if "W^X=0" not in label:  # where the barrier is not copied
            check("[JIT_WriteBarrier]" in own, f"{label}: {own}")
        if "TC=0" in label and "map=1" not in label:  # whose dump lists what runs from images
            check(expected <= set(seen), f"{label}: {seen.most_common(20)}")


def single_file_program_that_was_attached_to():
    told("attached", attached(*bundle(30, DOTNET_TieredCompilation="0", DOTNET_PerfMapEnabled="3")), NAMELESS_LATE)


def perf_shows_the_same_after_inject():
    data = recorded(*bundle(3, DOTNET_TieredCompilation="0", DOTNET_PerfMapEnabled="3"))
    agree("single-file program", data, inject(data), 150)


def loose_files_of_net_core_2_0():
    seen, _ = told("2.0, map", recorded(*core20(3, COMPlus_PerfMapEnabled="1")),
                   ngen=("System.Private.CoreLib.dll",))
    check(any(name and name.startswith("System.Text.RegularExpressions.") for name in seen), f"{seen.most_common(20)}")


harness.main(single_file_program_of_net_8, single_file_program_that_was_attached_to,
             perf_shows_the_same_after_inject, loose_files_of_net_core_2_0)
