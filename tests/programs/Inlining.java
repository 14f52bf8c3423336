import java.util.function.IntUnaryOperator;

/**
 * Methods whose inlining is told to the compilers by -XX:CompileCommand: kept* are never inlined, what they
 * call always is. A call of kept() is a safepoint, of which every compiler records where it is. Lines that a
 * test asks for end in a mark.
 *
 * <p>warm N: calls all of them N times; loop N: one long loop, for an OSR body; quit.
 */
final class Inlining {
  private static int sink;

  private Inlining() {}

  static int kept(int i) {
    return i * 7 + 1;
  }

  static int leaf(int i) {
    int j = i + 3;
    return kept(j) ^ i; // leaf: kept
  }

  static int middle(int i) {
    int a = leaf(i); // middle: first
    int b = leaf(i + 1); // middle: second

    return a - b;
  }

  static int keptOuter(int i) {
    int a = middle(i); // outer: middle
    return a + leaf(a); // outer: leaf
  }

  // A switch, a loop whose condition stands before its body, and lines that go back.
  static int branches(int i) {
    int result = 0;
    for (int k = 0;
        k < 3;
        k += 1 + kept(k) % 1) {
      switch ((i + k) & 3) {
        case 0:
          result += kept(i);
          break;
        case 1:
          result -= leaf(k);
          break;












          // Line numbers jump by more than fits into the short form of the JVM's tables.
        default:
          result ^= kept(k);
      }
    }
    return result
        + kept(
            result
                + 1);
  }

  static int keptBranches(int i) {
    return branches(i) + branches(i + 1);
  }

  static int fails(int i) {
    if ((i & 1023) == 17) {
      throw new IllegalStateException();
    }
    return kept(i);
  }

  static int keptCatching(int i) {
    try {
      return fails(i);
    } catch (IllegalStateException expected) {
      return kept(-i);
    }
  }

  static synchronized int locked(int i) {
    return kept(i) + 1;
  }

  static int keptLocking(int i) {
    return locked(i) - locked(i + 1);
  }

  static int down(int i, int depth) {
    return depth == 0 ? kept(i) : down(i, depth - 1) + 1;
  }

  static int keptRecursive(int i) {
    return down(i, 3);
  }

  interface Shape {
    int area(int i);
  }

  static final class Square implements Shape {
    @Override
    public int area(int i) {
      return kept(i) * i;
    }
  }

  static int keptVirtual(Shape shape, int i) {
    return shape.area(i);
  }

  static int keptLambda(IntUnaryOperator operator, int i) {
    return operator.applyAsInt(i);
  }

  static int all(int n) {
    IntUnaryOperator operator = x -> kept(x) + leaf(x);
    Shape shape = new Square();
    int result = 0;
    for (int i = 0; i < n; i++) {
      result += keptOuter(i) + keptBranches(i) + keptCatching(i) + keptLocking(i) + keptRecursive(i);
      result += keptVirtual(shape, i) + keptLambda(operator, i);
    }
    return result;
  }

  static int keptLoop(int n) {
    int result = 0;
    for (int i = 0; i < n; i++) {
      result += leaf(i); // loop: leaf
    }
    return result;
  }

  public static void main(String[] args) throws Exception {
    new Session()
        .on("warm", n -> {
          sink += all(n);
          return "done";
        })
        .on("loop", n -> {
          sink += keptLoop(n);
          return "done";
        })
        .on("quit", n -> {
          System.exit(n);
          return "";
        })
        .serve();
  }
}
