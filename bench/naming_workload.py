"""Programs for bench/naming.py: many methods that call each other deeply, in Java and in JavaScript.

Which method calls which depends on a seed alone, so that every run has the same shape: a few entries,
from each a path of random length through thousands of methods with small loops in them.
"""

import random

SEED = 20
FANOUT = 4


def graph(count):
    rng = random.Random(SEED)
    callees = [[rng.randrange(count) for _ in range(FANOUT)] for _ in range(count)]
    loops = [(rng.randrange(4, 24), rng.randrange(3, 99999) | 1) for _ in range(count)]
    entries = [rng.randrange(count) for _ in range(40)]
    return callees, loops, entries


def java(classes, methods, directory):
    """bench.Main SECONDS THREADS SHALLOW DEEP"""
    callees, loops, entries = graph(classes * methods)

    def name(i):
        return f"C{i // methods}.handle{i % methods}"

    for k in range(classes):
        lines = ["package bench;", f"final class C{k} {{"]
        for m in range(methods):
            i = k * methods + m
            laps, factor = loops[i]
            cases = "".join(f" case {j}: y += {name(to)}(depth - 1, n, a); break;"
                            for j, to in enumerate(callees[i]))
            lines += [f"  static int handle{m}(int depth, int x, int[] a) {{",
                      f"    int y = x; for (int i = 0; i < {laps}; i++) {{ y = y * {factor} + i; "
                      "a[(y >>> 8) & 1023] += y; }",
                      "    if (depth <= 0) return y;",
                      "    int n = x * 1103515245 + 12345;",
                      f"    switch ((x >>> 16) & 3) {{{cases} }}",
                      "    a[y & 1023] ^= y; return y;", "  }"]
        lines.append("}")
        (directory / f"C{k}.java").write_text("\n".join(lines))
    cases = "\n".join(f"      case {j}: return {name(to)}(depth, x, a);" for j, to in enumerate(entries))
    (directory / "Main.java").write_text("""package bench;
public final class Main {
  static int enter(int q, int depth, int[] a) {
    int x = q * 0x9E3779B1;
    switch (q % 40) {
""" + cases + """
      default: return x;
    }
  }
  public static void main(String[] words) throws Exception {
    final long end = System.nanoTime() + (long) (Double.parseDouble(words[0]) * 1e9);
    final int count = Integer.parseInt(words[1]), low = Integer.parseInt(words[2]);
    final int high = Integer.parseInt(words[3]);
    final int[] sums = new int[count];
    Thread[] threads = new Thread[count];
    for (int k = 0; k < count; k++) {
      final int id = k;
      threads[k] = new Thread(() -> {
        java.util.Random random = new java.util.Random(id);
        int[] a = new int[1024];
        while (System.nanoTime() < end) {
          for (int i = 0; i < 50; i++) {
            int q = (int) (Math.abs(random.nextGaussian()) * 700);
            sums[id] += enter(q, low + (q * 7919) % (high - low + 1), a);
          }
        }
      }, "worker-" + k);
      threads[k].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println(sums[0]);
  }
}
""")


def javascript(count, path):
    """main.js SECONDS SHALLOW DEEP"""
    callees, loops, entries = graph(count)
    lines = ["'use strict';"]
    for i in range(count):
        laps, factor = loops[i]
        cases = "".join(f"case {j}: y += handle_{to}(depth - 1, n, a); break; "
                        for j, to in enumerate(callees[i]))
        lines.append(
            f"function handle_{i}(depth, x, a) {{ let y = x; for (let i = 0; i < {laps}; i++) {{ "
            f"y = (Math.imul(y, {factor}) + i) | 0; a[(y >>> 8) & 1023] += y; }} if (depth <= 0) return y; "
            "const n = (Math.imul(x, 1103515245) + 12345) | 0; "
            f"switch ((x >>> 16) & 3) {{ {cases}}} a[y & 1023] ^= y; return y | 0; }}")
    lines.append("const entries = [" + ", ".join(f"handle_{to}" for to in entries) + "];")
    lines.append("""
const end = Date.now() + 1000 * Number(process.argv[2]);
const low = Number(process.argv[3]), high = Number(process.argv[4]);
const a = new Int32Array(1024);
let sum = 0, r = 1;
while (Date.now() < end) {
  for (let i = 0; i < 50; i++) {
    r = (Math.imul(r, 1664525) + 1013904223) | 0;
    const u = (r >>> 8) / 16777216, q = Math.floor(u * u * 2000);
    sum = (sum + entries[q % 40](low + (q * 7919) % (high - low + 1), Math.imul(q, 0x9E3779B1), a)) | 0;
  }
}
console.log(sum);""")
    path.write_text("\n".join(lines))
