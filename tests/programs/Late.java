/**
 * A method that starts interpreted and is compiled as it is called more often: "go N" calls it N times
 * and checks the results. Run with -XX:CompileCommand=dontinline,Late::work.
 */
final class Late {
  private Late() {}

  // Large enough that JDK 8 does not leave it to C1 as trivial (15 bytes of bytecode).
  static int work(int i) {
    return ((i * 5 + 3) ^ (i << 7)) - ((i ^ 0x5a5a) + 9);
  }

  // Loaded with its class, never called.
  static int never(int i) {
    return i;
  }

  private static String go(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      if (work(i) != ((i * 5 + 3) ^ (i << 7)) - ((i ^ 0x5a5a) + 9)) errors++;
    }
    return "calls " + n + " errors " + errors;
  }

  public static void main(String[] args) throws Exception {
    new Session().on("go", Late::go).serve();
  }
}
