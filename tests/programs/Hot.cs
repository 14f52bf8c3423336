// A target on Mono and .NET: methods that are known to be hot. Requests come as arguments, or a line each on
// standard input (after "ready PID"):
//   run MS     runs each hot method for so long; prints "part NAME BEGIN END" for each
//   call N     calls Hot.Counted so often
//   fill N     compiles so many methods of their own: Mono writes its perf map when 4 KB are full
// Each ends with "VERB done errors E". Times are CLOCK_MONOTONIC nanoseconds.
using System;
using System.Diagnostics;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Shop {
public class Hot {
  // Each calls nothing but itself.
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int First(int n) { int s = 1; for (int i = 0; i < n; i++) s = (s * 31 + i) & 0xffffff; return s; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Second(int n) { int s = 1; for (int i = 0; i < n; i++) s = (s ^ (i * 7)) & 0xfffff; return s; }
  [MethodImpl(MethodImplOptions.NoInlining)]
  public static int Counted(int n) { return n + 7; }

  static long Now() { return (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency)); }

  static void Part(string name, Func<int, int> run, int ms) {
    long begin = Now(), end;
    do { run(100000); end = Now(); } while (end - begin < ms * 1000000L);
    Console.WriteLine("part {0} {1} {2}", name, begin, end);
  }

  static bool Fill(int number) {
    var method = new DynamicMethod("fill" + number, typeof(int), new Type[] { typeof(int) });
    ILGenerator body = method.GetILGenerator();
    body.Emit(OpCodes.Ldarg_0);
    body.Emit(OpCodes.Ldc_I4, number);
    body.Emit(OpCodes.Add);
    body.Emit(OpCodes.Ret);
    var run = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
    return run(1) == number + 1;
  }

  static void Do(string request) {
    string[] words = request.Split(' ');
    if (words[0] == "run") {
      Part("Shop.Hot.First", First, int.Parse(words[1]));
      Part("Shop.Hot.Second", Second, int.Parse(words[1]));
      Console.WriteLine("run done errors 0");
    } else if (words[0] == "call") {
      int n = int.Parse(words[1]), sum = 0;
      for (int i = 0; i < n; i++) sum = Counted(sum);
      Console.WriteLine("call done errors {0}", sum == n * 7 ? 0 : 1);
    } else if (words[0] == "fill") {
      int errors = 0;
      for (int i = 0; i < int.Parse(words[1]); i++) errors += Fill(i) ? 0 : 1;
      Console.WriteLine("fill done errors {0}", errors);
    }
  }

  public static void Main(string[] arguments) {
    Console.WriteLine("ready {0}", Process.GetCurrentProcess().Id);
    foreach (string request in arguments) Do(request);
    if (arguments.Length > 0) return;
    for (string line; (line = Console.ReadLine()) != null;) Do(line);
  }
}
}
