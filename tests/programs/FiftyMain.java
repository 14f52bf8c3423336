import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;

/**
 * Fifty methods called by four threads: "go N" calls Fifty.mK exactly N + K times from every thread;
 * "run" starts threads that call all of them and check every result for ever, "report" says how many
 * were checked. Run with -XX:CompileCommand=dontinline,Fifty::*.
 */
final class FiftyMain {
  private static final int THREADS = 4;
  private static final AtomicLong CHECKED = new AtomicLong();
  private static final AtomicLong ERRORS = new AtomicLong();
  private static final IntUnaryOperator[] ALL = {
    Fifty::m0, Fifty::m1, Fifty::m2, Fifty::m3, Fifty::m4,
    Fifty::m5, Fifty::m6, Fifty::m7, Fifty::m8, Fifty::m9,
    Fifty::m10, Fifty::m11, Fifty::m12, Fifty::m13, Fifty::m14,
    Fifty::m15, Fifty::m16, Fifty::m17, Fifty::m18, Fifty::m19,
    Fifty::m20, Fifty::m21, Fifty::m22, Fifty::m23, Fifty::m24,
    Fifty::m25, Fifty::m26, Fifty::m27, Fifty::m28, Fifty::m29,
    Fifty::m30, Fifty::m31, Fifty::m32, Fifty::m33, Fifty::m34,
    Fifty::m35, Fifty::m36, Fifty::m37, Fifty::m38, Fifty::m39,
    Fifty::m40, Fifty::m41, Fifty::m42, Fifty::m43, Fifty::m44,
    Fifty::m45, Fifty::m46, Fifty::m47, Fifty::m48, Fifty::m49,
  };

  private FiftyMain() {}

  private static int call(int k, int n) {
    IntUnaryOperator method = ALL[k];
    int errors = 0;
    for (int i = 0; i < n; i++) {
      if (method.applyAsInt(i) != (i ^ 0x5a5a) + k * 7) errors++;
    }
    return errors;
  }

  private static String go(int n) throws InterruptedException {
    AtomicLong errors = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      Thread thread = new Thread(() -> {
        for (int k = 0; k < ALL.length; k++) errors.addAndGet(call(k, n + k));
      });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) thread.join();
    return "threads " + THREADS + " errors " + errors.get();
  }

  private static String run() {
    for (int t = 0; t < 2; t++) {
      Thread thread = new Thread(() -> {
        while (true) {
          for (int k = 0; k < ALL.length; k++) {
            ERRORS.addAndGet(call(k, 100));
            CHECKED.addAndGet(100);
          }
        }
      });
      thread.setDaemon(true);
      thread.start();
    }
    return "started";
  }

  public static void main(String[] args) throws Exception {
    new Session()
        .on("warm", FiftyMain::go)
        .on("go", FiftyMain::go)
        .on("run", n -> run())
        .on("report", n -> "checked " + CHECKED.get() + " errors " + ERRORS.get())
        .serve();
  }
}

/** Nothing but the fifty, so that the glob Fifty.m* names them all. */
final class Fifty {
  private Fifty() {}

  static int m0(int i) {
    return (i ^ 0x5a5a) + 0;
  }

  static int m1(int i) {
    return (i ^ 0x5a5a) + 7;
  }

  static int m2(int i) {
    return (i ^ 0x5a5a) + 14;
  }

  static int m3(int i) {
    return (i ^ 0x5a5a) + 21;
  }

  static int m4(int i) {
    return (i ^ 0x5a5a) + 28;
  }

  static int m5(int i) {
    return (i ^ 0x5a5a) + 35;
  }

  static int m6(int i) {
    return (i ^ 0x5a5a) + 42;
  }

  static int m7(int i) {
    return (i ^ 0x5a5a) + 49;
  }

  static int m8(int i) {
    return (i ^ 0x5a5a) + 56;
  }

  static int m9(int i) {
    return (i ^ 0x5a5a) + 63;
  }

  static int m10(int i) {
    return (i ^ 0x5a5a) + 70;
  }

  static int m11(int i) {
    return (i ^ 0x5a5a) + 77;
  }

  static int m12(int i) {
    return (i ^ 0x5a5a) + 84;
  }

  static int m13(int i) {
    return (i ^ 0x5a5a) + 91;
  }

  static int m14(int i) {
    return (i ^ 0x5a5a) + 98;
  }

  static int m15(int i) {
    return (i ^ 0x5a5a) + 105;
  }

  static int m16(int i) {
    return (i ^ 0x5a5a) + 112;
  }

  static int m17(int i) {
    return (i ^ 0x5a5a) + 119;
  }

  static int m18(int i) {
    return (i ^ 0x5a5a) + 126;
  }

  static int m19(int i) {
    return (i ^ 0x5a5a) + 133;
  }

  static int m20(int i) {
    return (i ^ 0x5a5a) + 140;
  }

  static int m21(int i) {
    return (i ^ 0x5a5a) + 147;
  }

  static int m22(int i) {
    return (i ^ 0x5a5a) + 154;
  }

  static int m23(int i) {
    return (i ^ 0x5a5a) + 161;
  }

  static int m24(int i) {
    return (i ^ 0x5a5a) + 168;
  }

  static int m25(int i) {
    return (i ^ 0x5a5a) + 175;
  }

  static int m26(int i) {
    return (i ^ 0x5a5a) + 182;
  }

  static int m27(int i) {
    return (i ^ 0x5a5a) + 189;
  }

  static int m28(int i) {
    return (i ^ 0x5a5a) + 196;
  }

  static int m29(int i) {
    return (i ^ 0x5a5a) + 203;
  }

  static int m30(int i) {
    return (i ^ 0x5a5a) + 210;
  }

  static int m31(int i) {
    return (i ^ 0x5a5a) + 217;
  }

  static int m32(int i) {
    return (i ^ 0x5a5a) + 224;
  }

  static int m33(int i) {
    return (i ^ 0x5a5a) + 231;
  }

  static int m34(int i) {
    return (i ^ 0x5a5a) + 238;
  }

  static int m35(int i) {
    return (i ^ 0x5a5a) + 245;
  }

  static int m36(int i) {
    return (i ^ 0x5a5a) + 252;
  }

  static int m37(int i) {
    return (i ^ 0x5a5a) + 259;
  }

  static int m38(int i) {
    return (i ^ 0x5a5a) + 266;
  }

  static int m39(int i) {
    return (i ^ 0x5a5a) + 273;
  }

  static int m40(int i) {
    return (i ^ 0x5a5a) + 280;
  }

  static int m41(int i) {
    return (i ^ 0x5a5a) + 287;
  }

  static int m42(int i) {
    return (i ^ 0x5a5a) + 294;
  }

  static int m43(int i) {
    return (i ^ 0x5a5a) + 301;
  }

  static int m44(int i) {
    return (i ^ 0x5a5a) + 308;
  }

  static int m45(int i) {
    return (i ^ 0x5a5a) + 315;
  }

  static int m46(int i) {
    return (i ^ 0x5a5a) + 322;
  }

  static int m47(int i) {
    return (i ^ 0x5a5a) + 329;
  }

  static int m48(int i) {
    return (i ^ 0x5a5a) + 336;
  }

  static int m49(int i) {
    return (i ^ 0x5a5a) + 343;
  }
}
