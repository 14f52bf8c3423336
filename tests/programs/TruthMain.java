import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes exactly as many calls of the methods of Truth as it is told, and checks every result.
 *
 * <p>warm N: calls them N times, go N: the same under another name, spawn N: starts N processes while
 * another thread calls Truth.fixed 10,000 times for each, only-fixed N, quit.
 */
final class TruthMain {
  private static final Truth.Base[] BASES = {new Truth.Two(), new Truth.One()};
  private static final Truth.Op[] OPS = {new Truth.OpA(), new Truth.OpB(), new Truth.OpC()};

  private TruthMain() {}

  static int callFixed(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      if (Truth.fixed(i) != i * 3 + 1) errors++;
    }
    return errors;
  }

  // Two classes have the method, this site sees one of them.
  static int callVirtual(Truth.Base base, int n, int added) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      if (base.virtual(i) != i + added) errors++;
    }
    return errors;
  }

  // This site sees three classes.
  static int callInterface(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < 3; k++) {
        if (OPS[k].apply(i) != (i ^ (1 << k))) errors++;
      }
    }
    return errors;
  }

  static int callSix(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      long got = Truth.six(-i, (long) i << 33, (short) i, (byte) i, (char) i, (i & 1) != 0);
      long wanted = -i + ((long) i << 33) + (short) i + (byte) i + (char) i + (i & 1);
      if (got != wanted) errors++;
    }
    return errors;
  }

  static String callAll(int n) {
    int errors = callFixed(n) + callVirtual(BASES[1], n, 5) + callInterface(n) + callSix(n);
    return "calls " + n + " errors " + errors;
  }

  static String spawn(int n) throws Exception {
    AtomicLong errors = new AtomicLong();
    Thread caller = new Thread(() -> {
      for (int i = 0; i < n; i++) errors.addAndGet(callFixed(10_000));
    });
    caller.start();
    int failed = 0;
    for (int i = 0; i < n; i++) {
      if (new ProcessBuilder("/bin/true").start().waitFor() != 0) failed++;
    }
    caller.join();
    return "calls " + n * 10_000 + " errors " + errors.get() + " failed " + failed;
  }

  public static void main(String[] args) throws Exception {
    BASES[0].virtual(1);
    new Session()
        .on("warm", TruthMain::callAll)
        .on("go", TruthMain::callAll)
        .on("only-fixed", n -> "calls " + n + " errors " + callFixed(n))
        .on("spawn", TruthMain::spawn)
        .on("quit", n -> {
          System.exit(n);
          return "";
        })
        .serve();
  }
}
