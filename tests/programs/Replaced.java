/**
 * A compiled method that becomes invalid while its caller stays as it is: "go N" makes N calls, one by
 * one, from one compiled caller; "load 0" loads the second class that Replaced.work did not reckon with.
 * Run with -XX:CompileCommand=dontinline,Replaced::*.
 */
final class Replaced {
  abstract static class Shape {
    abstract int area(int side);
  }

  static final class Square extends Shape {
    @Override
    int area(int side) {
      return side * side;
    }
  }

  // Loaded by name, so that nothing loads it before.
  static final class Other extends Shape {
    Other() {}

    @Override
    int area(int side) {
      return side + 1;
    }
  }

  private static Shape shape = new Square();
  private static Object other;

  private Replaced() {}

  static int work(int i) {
    return (shape.area(i) ^ (i << 3)) + 7 * i;
  }

  static int caller(int i) {
    return work(i + 1) - 5;
  }

  private static String go(int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) {
      int k = i + 1;
      if (caller(i) != ((k * k) ^ (k << 3)) + 7 * k - 5) errors++;
    }
    return "calls " + n + " errors " + errors;
  }

  private static String load(int ignored) throws ReflectiveOperationException {
    other = Class.forName("Replaced$Other").getDeclaredConstructor().newInstance();
    return "loaded " + (other != null) + " errors 0";
  }

  public static void main(String[] args) throws Exception {
    new Session().on("go", Replaced::go).on("load", Replaced::load).serve();
  }
}
