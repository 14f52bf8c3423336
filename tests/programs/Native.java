import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * What a JVM can do only through native calls (JDK 22 or later): "fork N" forks, calls Truth.fixed N
 * times in the child and four times N times in the parent; "seccomp" makes openat fail and memfd_create kill the process,
 * for all threads. "warm N" and "go N" call Truth.fixed N times. Run with
 * -Djava.lang.invoke.MethodHandle.CUSTOMIZE_THRESHOLD=-1 and -XX:CompileCommand=compileonly,Truth*::*.
 */
final class Native {
  private static final int PR_SET_NO_NEW_PRIVS = 38;
  private static final int SECCOMP_SET_MODE_FILTER = 1;
  private static final int SECCOMP_FILTER_FLAG_TSYNC = 1;
  private static final int SYS_SECCOMP = 317;
  private static final int SYS_OPENAT = 257;
  private static final int SYS_MEMFD_CREATE = 319;
  private static final int LOAD_WORD = 0x20;
  private static final int JUMP_EQUAL = 0x15;
  private static final int RETURN = 0x06;
  private static final int KILL_PROCESS = 0x80000000;
  private static final int ALLOW = 0x7fff0000;
  private static final int ERRNO_EACCES = 0x00050000 | 13;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle FORK = function("fork", 0);
  private static final MethodHandle EXIT = function("_exit", 1);
  private static final MethodHandle ABSOLUTE = function("labs", 1);
  private static final MethodHandle WAIT = function("waitpid", 3);
  private static final MethodHandle PRCTL = function("prctl", 5);
  private static final MethodHandle SYSCALL = function("syscall", 4);

  private Native() {}

  // All arguments and the result as long: the registers are the same, and no int is read here.
  private static MethodHandle function(String name, int arguments) {
    ValueLayout[] layouts = new ValueLayout[arguments];
    Arrays.fill(layouts, ValueLayout.JAVA_LONG);
    return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(),
        FunctionDescriptor.of(ValueLayout.JAVA_LONG, layouts));
  }

  // One call site for both handles, so that the child finds it linked.
  private static long callOne(MethodHandle handle, long argument) throws Throwable {
    return (long) handle.invokeExact(argument);
  }

  // The child has one thread and whatever locks the others held: it must not load a class, collect or
  // compile. So all that it does has been done before, and no handle may be customised in it.
  private static String fork(int n) throws Throwable {
    for (int i = 0; i < 3; i++) callOne(ABSOLUTE, TruthMain.callFixed(n) == 0 ? 0 : 1);
    int child = (int) (long) FORK.invokeExact();
    if (child == 0) callOne(EXIT, TruthMain.callFixed(n) == 0 ? 0 : 1);
    int errors = TruthMain.callFixed(n);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment status = arena.allocate(ValueLayout.JAVA_INT);
      long got = (long) WAIT.invokeExact((long) child, status.address(), 0L);
      if ((int) got != child) return "waitpid " + got;
      return "child " + status.get(ValueLayout.JAVA_INT, 0) + " errors " + errors;
    }
  }

  private static String forbid() throws Throwable {
    int[][] filter = {
      {LOAD_WORD, 0, 0, 0},
      {JUMP_EQUAL, 2, 0, SYS_MEMFD_CREATE},
      {JUMP_EQUAL, 2, 0, SYS_OPENAT},
      {RETURN, 0, 0, ALLOW},
      {RETURN, 0, 0, KILL_PROCESS},
      {RETURN, 0, 0, ERRNO_EACCES},
    };
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment code = arena.allocate(8L * filter.length, 8);
      for (int i = 0; i < filter.length; i++) {
        code.set(ValueLayout.JAVA_SHORT, 8L * i, (short) filter[i][0]);
        code.set(ValueLayout.JAVA_BYTE, 8L * i + 2, (byte) filter[i][1]);
        code.set(ValueLayout.JAVA_BYTE, 8L * i + 3, (byte) filter[i][2]);
        code.set(ValueLayout.JAVA_INT, 8L * i + 4, filter[i][3]);
      }
      MemorySegment program = arena.allocate(16, 8);
      program.set(ValueLayout.JAVA_SHORT, 0, (short) filter.length);
      program.set(ValueLayout.JAVA_LONG, 8, code.address());
      long first = (long) PRCTL.invokeExact((long) PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
      long second = (long) SYSCALL.invokeExact((long) SYS_SECCOMP, (long) SECCOMP_SET_MODE_FILTER,
          (long) SECCOMP_FILTER_FLAG_TSYNC, program.address());
      return (int) first + " " + (int) second;
    }
  }

  private interface Call {
    String make(int n) throws Throwable;
  }

  private static Session.Handler orError(Call call) {
    return n -> {
      try {
        return call.make(n);
      } catch (Throwable error) {
        return "failed: " + error;
      }
    };
  }

  public static void main(String[] args) throws Exception {
    new Session()
        .on("warm", n -> "calls " + n + " errors " + TruthMain.callFixed(n))
        .on("go", n -> "calls " + n + " errors " + TruthMain.callFixed(n))
        .on("fork", orError(Native::fork))
        .on("seccomp", orError(n -> forbid()))
        .serve();
  }
}
