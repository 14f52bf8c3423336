import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/**
 * The class that Churn defines again and again in loaders that it throws away. Its methods have the
 * shapes that compilers treat differently: loops, recursion, allocation, exceptions, string
 * concatenation, a capturing lambda (made by Churn: JDK 17 cannot link one of a hidden class), a
 * synchronized method, many arguments. Every path leads to the same result as reference().
 */
public final class ChurnUnit implements IntBinaryOperator {
  private int seen;
  private final IntUnaryOperator[] last = new IntUnaryOperator[1];

  /** What applyAsInt must return, computed in the plainest way. */
  public static int reference(int x, int y) {
    int sum = 0;
    for (int i = 0; i < (x & 7); i++) sum += i * y;
    return sum + x + 31 * y + ((x & 15) == 0 ? -1 : 100 / (x & 15)) + (x & 3) + 6;
  }

  @Override
  public int applyAsInt(int x, int y) {
    return loop(x & 7, y) + mix(x, y, (long) x << 32, (short) y, (byte) 3, (x & 1) != 0, 1.5)
        + divide(x & 15) + recurse(x & 3) + text(x & 1).length() + lambda(y);
  }

  private static int loop(int n, int y) {
    int[] parts = new int[8];
    for (int i = 0; i < n; i++) parts[i] = i * y;
    int sum = 0;
    for (int part : parts) sum += part;
    return sum;
  }

  private static int mix(int a, int b, long c, short d, byte e, boolean f, double g) {
    int sum = a + b + (int) (c >> 32) + d + e + (f ? 1 : 0) + (int) (g * 2);
    return sum - (int) (c >> 32) - d - e - (f ? 1 : 0) - 3;
  }

  private static int divide(int by) {
    try {
      return 100 / by;
    } catch (ArithmeticException e) {
      return -1;
    }
  }

  private static int recurse(int n) {
    return n == 0 ? 0 : 1 + recurse(n - 1);
  }

  private static String text(int bit) {
    return "bit" + bit + (bit == 0 ? "/e" : "/o");
  }

  private synchronized int lambda(int y) {
    if ((++seen & 1) == 1 || last[0] == null) last[0] = Churn.times(y);
    return last[0].applyAsInt(30) + (y * 30 - last[0].applyAsInt(30));
  }
}
