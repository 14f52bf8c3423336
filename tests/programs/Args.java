import java.util.Arrays;

/**
 * Passes known values to four methods and prints what it passed, in order, as
 * "passed METHOD VALUE..." with chars as their number and references as "ref". Run with
 * -XX:CompileCommand=dontinline,Args::take*.
 */
final class Args {
  private static final int[] INTS = {0, 1, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, 42, -65536, 65536};
  private static final long[] LONGS = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 53, (1L << 53) + 1,
      -(1L << 53) - 1, 0xffffffffL, -0x80000000L, 1};
  private static final short[] SHORTS = {0, -1, Short.MIN_VALUE, Short.MAX_VALUE, 300};
  private static final byte[] BYTES = {0, -1, Byte.MIN_VALUE, Byte.MAX_VALUE, 7, -7, 100};
  private static final char[] CHARS = {'a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\t', '\u0001', '\u007f',
      '\u00e9', '\u00df', '\u03bb', '\u6f22', '\u2028', '\uffee'};

  private final String name = "an Args";
  private long random = 0x9E3779B97F4A7C15L;

  private long next() {
    random ^= random << 13;
    random ^= random >>> 7;
    random ^= random << 17;
    return random;
  }

  // Constant tables first, then noise.
  private int anInt(int i) {
    return i % 3 == 0 ? (int) next() : INTS[i % INTS.length];
  }

  private long aLong(int i) {
    return i % 3 == 1 ? next() : LONGS[i % LONGS.length];
  }

  private short aShort(int i) {
    return i % 3 == 2 ? (short) next() : SHORTS[i % SHORTS.length];
  }

  private byte aByte(int i) {
    return i % 3 == 0 ? (byte) next() : BYTES[i % BYTES.length];
  }

  private char aChar(int i) {
    return CHARS[i % CHARS.length];
  }

  static long takeSix(int a, long b, short c, byte d, char e, boolean f) {
    return a + b + c + d + e + (f ? 1 : 0);
  }

  long takeThis(String s, int a, boolean b, long c, char d) {
    return (long) s.length() + a + (b ? 1 : 0) + c + d + name.length();
  }

  static double takeFloats(int a, double x, long b, float y, int c) {
    return a + x + b + y + c;
  }

  static long takeEight(int a, int b, int c, int d, int e, int f, int g, int h) {
    return (long) a + b + c + d + e + f + g + h;
  }

  private String[] call(int n, boolean note) {
    String[] notes = new String[note ? 4 * n : 0];
    String text = "passed";
    long wrong = 0;
    for (int i = 0; i < n; i++) {
      int a = anInt(i);
      long b = aLong(i);
      short c = aShort(i);
      byte d = aByte(i);
      char e = aChar(i);
      boolean f = (i & 2) != 0;
      if (takeSix(a, b, c, d, e, f) != a + b + c + d + e + (f ? 1 : 0)) wrong++;
      if (takeThis(text, a, f, b, e) != (long) 6 + a + (f ? 1 : 0) + b + e + 7) wrong++;
      if (takeFloats(a, 1.5 * i, b, 2.5f * i, ~a) != a + 1.5 * i + b + 2.5f * i + ~a) wrong++;
      long sum = (long) a + ~a + c + d + e + i + (a >> 1) + (c + 1);
      if (takeEight(a, ~a, c, d, e, i, a >> 1, c + 1) != sum) wrong++;
      if (note) {
        String[] values = {
          "takeSix " + a + " " + b + " " + c + " " + d + " " + (int) e + " " + f,
          "takeThis ref ref " + a + " " + f + " " + b + " " + (int) e,
          "takeFloats " + a + " null " + b + " null " + ~a,
          "takeEight " + a + " " + ~a + " " + c + " " + d + " " + (int) e + " " + i + " null null",
        };
        System.arraycopy(values, 0, notes, 4 * i, 4);
      }
    }
    if (wrong != 0) throw new IllegalStateException(wrong + " wrong results");
    return notes;
  }

  public static void main(String[] args) throws Exception {
    Args self = new Args();
    Session session = new Session();
    session
        .on("warm", n -> "calls " + n + " errors " + self.call(n, false).length)
        .on("go", n -> {
          Arrays.stream(self.call(n, true)).forEach(text -> session.line("passed " + text));
          return "done";
        })
        .serve();
  }
}
