/**
 * Methods that a test counts calls of. None of them has a branch, an allocation or a class that could
 * be unloaded, so that their compiled bodies stay valid; run with
 * -XX:CompileCommand=dontinline,Truth*::* so that every call enters a body. See TruthMain.
 */
final class Truth {
  private Truth() {}

  static int fixed(int i) {
    return i * 3 + 1;
  }

  static long six(int a, long b, short c, byte d, char e, boolean f) {
    return a + b + c + d + e + (f ? 1 : 0);
  }

  abstract static class Base {
    abstract int virtual(int i);
  }

  static final class One extends Base {
    @Override
    int virtual(int i) {
      return i + 5;
    }
  }

  static final class Two extends Base {
    @Override
    int virtual(int i) {
      return i + 6;
    }
  }

  interface Op {
    int apply(int i);
  }

  static final class OpA implements Op {
    @Override
    public int apply(int i) {
      return i ^ 1;
    }
  }

  static final class OpB implements Op {
    @Override
    public int apply(int i) {
      return i ^ 2;
    }
  }

  static final class OpC implements Op {
    @Override
    public int apply(int i) {
      return i ^ 4;
    }
  }
}
