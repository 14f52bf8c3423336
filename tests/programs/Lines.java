/**
 * A program that knows its lines: every method that burns time stands on one line, so a sample in it
 * has that line whatever the compiler did. `near` is to be inlined into `both`, `far` is not
 * (CompileCommand), `nest` inlines `near` through `both`.
 */
public final class Lines {
  static int near(int x) { int s = x; for (int i = 1; i < 400; i++) { s = s * 31 + i; s ^= s >>> 3; } return s; } // at: near

  static int far(int x) { int s = x; for (int i = 1; i < 400; i++) { s = s * 17 - i; s ^= s >>> 5; } return s; } // at: far

  static int both(int x) { return near(x) + far(x + 1); } // at: both

  static int nest(int x) { return both(x) ^ 5; } // at: nest

  private int sum;

  private String run(int milliseconds) {
    long end = System.nanoTime() + milliseconds * 1_000_000L;
    long calls = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 100; i++) {
        sum += nest(i + (int) calls);
      }
      calls += 100;
    }
    return "calls " + calls + " errors 0 sum " + sum;
  }

  public static void main(String[] args) throws Exception {
    Lines lines = new Lines();
    new Session().on("run", lines::run).serve();
  }
}
