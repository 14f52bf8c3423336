import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/**
 * Everything that makes a JVM compile, invalidate, move out and free code, with every result checked:
 * classes in loaders that are thrown away, hidden classes (from JDK 15 on), subclasses that come and go,
 * rare paths, stack overflows, lambdas, System.gc. Answers "report" with "checked N errors M classes K".
 */
public final class Churn {
  /** Has one subclass most of the time. */
  public abstract static class Shape {
    public abstract int area(int side);
  }

  static final class Square extends Shape {
    @Override
    public int area(int side) {
      return side * side;
    }
  }

  private static final class Throwaway extends ClassLoader {
    Throwaway() {
      super(Churn.class.getClassLoader());
    }

    Object make(String name, byte[] bytes) throws ReflectiveOperationException {
      return defineClass(name, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
    }
  }

  private interface Task {
    void round(int round) throws Throwable;
  }

  private static final AtomicLong CHECKED = new AtomicLong();
  private static final AtomicLong ERRORS = new AtomicLong();
  private static final AtomicLong CLASSES = new AtomicLong();
  // MethodHandles.Lookup.defineHiddenClass; null before JDK 15.
  private static final Method defineHidden =
      Arrays.stream(MethodHandles.Lookup.class.getMethods())
          .filter(method -> method.getName().equals("defineHiddenClass"))
          .findAny()
          .orElse(null);
  private static byte[] unit;
  private static byte[] shape;

  private Churn() {}

  public static IntUnaryOperator times(int y) {
    return z -> y * z;
  }

  private static void check(boolean right, String what, Object got) {
    CHECKED.incrementAndGet();
    if (!right && ERRORS.incrementAndGet() <= 10) System.err.println("wrong " + what + ": " + got);
  }

  private static byte[] bytesOf(String name) throws Exception {
    try (InputStream in = Churn.class.getResourceAsStream(name + ".class")) {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (int b = in.read(); b >= 0; b = in.read()) all.write(b);
      return all.toByteArray();
    }
  }

  private static void useUnit(IntBinaryOperator operator, int calls) {
    for (int i = 0; i < calls; i++) {
      int y = i * 31 - 7;
      int got = operator.applyAsInt(i, y);
      check(got == ChurnUnit.reference(i, y), "unit", got);
    }
  }

  private static void loaders(int round) throws Throwable {
    useUnit((IntBinaryOperator) new Throwaway().make("ChurnUnit", unit), 2000 + round % 5 * 3000);
    CLASSES.incrementAndGet();
  }

  private static void hidden(int round) throws Throwable {
    Object noOptions = Array.newInstance(defineHidden.getParameterTypes()[2].getComponentType(), 0);
    MethodHandles.Lookup lookup =
        (MethodHandles.Lookup) defineHidden.invoke(MethodHandles.lookup(), unit, true, noOptions);
    Object made = lookup.lookupClass().getDeclaredConstructor().newInstance();
    useUnit((IntBinaryOperator) made, 1000 + round % 3 * 4000);
    CLASSES.incrementAndGet();
    if (round % 40 == 39) System.gc();
  }

  private static int areas(Shape shape, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += shape.area(i & 15);
    return sum;
  }

  private static int rare(Object value, int[] array, int index) {
    int length = ((String) value).length();
    return length * 1000 + array[index];
  }

  private static void traps(int round) throws Throwable {
    int sum = areas(new Square(), 16_000);
    check(sum == 1240 * 1000, "square", sum);
    if (round % 8 == 7) {
      int other = areas((Shape) new Throwaway().make("ChurnShape", shape), 1600);
      check(other == 480 * 100, "shape", other);
      CLASSES.incrementAndGet();
    }
    int[] array = {5, 6, 7};
    for (int i = 0; i < 4000; i++) {
      int got = rare("four", array, i % 3);
      check(got == 4005 + i % 3, "plain path", got);
    }
    Object[][] bad = {{null, 0}, {Integer.valueOf(round), 1}, {"four", 3}};
    Class<?>[] wanted = {NullPointerException.class, ClassCastException.class,
        ArrayIndexOutOfBoundsException.class};
    for (int k = 0; k < bad.length; k++) {
      try {
        check(false, "no exception", rare(bad[k][0], array, (Integer) bad[k][1]));
      } catch (RuntimeException e) {
        check(e.getClass() == wanted[k], "exception", e);
      }
    }
  }

  private static int depth;

  private static int deeper(int n, long a, long b) {
    depth++;
    return deeper(n + 1, b, a + n) + 1;
  }

  private static int triangle(int n) {
    return n == 0 ? 0 : n + triangle(n - 1);
  }

  private static void overflow(int round) throws Throwable {
    depth = 0;
    try {
      check(false, "no overflow", deeper(0, 1, 2));
    } catch (StackOverflowError e) {
      check(depth > 500, "depth", depth);
    }
    for (int i = 0; i < 300; i++) {
      int got = triangle(200);
      check(got == 20100, "triangle", got);
      String text = "r" + round + ':' + i + (char) ('a' + i % 26);
      StringBuilder plain = new StringBuilder("r").append(round).append(':').append(i);
      check(text.contentEquals(plain.append((char) ('a' + i % 26))), "text", text);
    }
  }

  private static void start(String name, Task task) {
    Runnable forever = () -> {
      for (int round = 0;; round++) {
        try {
          task.round(round);
        } catch (Throwable e) {
          ERRORS.incrementAndGet();
          System.err.println(name + ": " + e);
          e.printStackTrace();
        }
      }
    };
    Thread thread = new Thread(null, forever, name, 512 * 1024);
    thread.setDaemon(true);
    thread.start();
  }

  public static void main(String[] args) throws Exception {
    unit = bytesOf("ChurnUnit");
    shape = bytesOf("ChurnShape");
    start("loaders", Churn::loaders);
    if (defineHidden != null) start("hidden", Churn::hidden);
    start("traps", Churn::traps);
    start("overflow", Churn::overflow);
    new Session()
        .on("report", n -> "checked " + CHECKED.get() + " errors " + ERRORS.get() + " classes "
            + CLASSES.get())
        .serve();
  }
}
