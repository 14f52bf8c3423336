/**
 * Methods whose names a test replaces in the class file by ones that javac does not take (see class_file.py):
 * what Kotlin, Groovy and Spock make of test names. One class, so that the calls are renamed along with the methods.
 */
final class OddNames {
  private OddNames() {}

  static int odd0(int i) {
    return i + 10;
  }

  static long odd0(long i) {
    return i + 20;
  }

  static int odd1(int i) {
    return i + 30;
  }

  static int odd2(int i) {
    return i + 40;
  }

  static int odd3(int i) {
    return i + 50;
  }

  static int odd4(int i) {
    return i + 60;
  }

  static int odd5(int i) {
    return i + 70;
  }

  static int odd6(int i) {
    return i + 80;
  }

  static int odd7(int i) {
    return i + 90;
  }

  static int plain(int i) {
    return i + 100;
  }

  // Called once, and never often enough to be compiled.
  static int seldom(int i) {
    return i + 110;
  }

  static int call(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      if (odd0(i) != i + 10) errors++;
      if (odd0((long) i) != i + 20L) errors++;
      if (odd1(i) != i + 30) errors++;
      if (odd2(i) != i + 40) errors++;
      if (odd3(i) != i + 50) errors++;
      if (odd4(i) != i + 60) errors++;
      if (odd5(i) != i + 70) errors++;
      if (odd6(i) != i + 80) errors++;
      if (odd7(i) != i + 90) errors++;
      if (plain(i) != i + 100) errors++;
    }
    return errors;
  }

  public static void main(String[] args) throws Exception {
    if (seldom(1) != 111) throw new AssertionError();
    new Session()
        .on("warm", n -> "calls " + n + " errors " + call(n))
        .on("go", n -> "calls " + n + " errors " + call(n))
        .on("seldom", n -> "calls 1 errors " + (seldom(n) == n + 110 ? 0 : 1))
        .on("spin", n -> {
          long end = System.nanoTime() + n * 1_000_000L;
          int errors = 0;
          while (System.nanoTime() < end) errors += call(20_000);
          return "calls 0 errors " + errors;
        })
        .serve();
  }
}
