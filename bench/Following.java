import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The JVM of bench/following.py: does work until about two thousand bodies are compiled, prints "ready", and then
 * waits (idle), or goes on as a server does (busy): requests of some milliseconds with pauses, and every quarter of a
 * second a class that was not there before, whose methods are compiled.
 */
final class Following {
  private static final long PAUSE_MS = 4;
  private static final int REQUESTS_A_CLASS = 30;
  private static final int CALLS = 3_000;

  private Following() {}

  /** Given to a class loader of its own each time. */
  public static final class Fresh implements Runnable {
    private int sum;

    private int step(int i) {
      return i * 31 ^ (i >>> 3);
    }

    private int twice(int i) {
      return step(i) + step(i + 1);
    }

    @Override
    public void run() {
      for (int i = 0; i < CALLS; i++) sum += twice(i);
    }
  }

  private static final class Loader extends ClassLoader {
    private static final byte[] BYTES = read();

    private static byte[] read() {
      try (InputStream in = Following.class.getResourceAsStream("Following$Fresh.class")) {
        return in.readAllBytes();
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    Runnable make() throws Exception {
      Class<?> made = defineClass("Following$Fresh", BYTES, 0, BYTES.length);
      return (Runnable) made.getDeclaredConstructor().newInstance();
    }
  }

  static int handle(int number) {
    Map<String, Integer> words = new HashMap<>();
    for (String word : String.format("request %d of %x, %s", number, number * 7, "a b c d").split("\\W+")) {
      words.merge(word, word.length(), Integer::sum);
    }
    String joined = IntStream.range(0, 50).mapToObj(i -> Integer.toString(i * number)).sorted()
        .collect(Collectors.joining(","));
    return words.hashCode() + joined.hashCode() + joined.replaceAll("[13579]", "x").length();
  }

  public static void main(String[] arguments) throws Exception {
    int sum = 0;
    for (int i = 0; i < 30_000; i++) sum += handle(i);
    System.out.println("ready " + sum);
    if (arguments[0].equals("idle")) Thread.currentThread().join();
    for (int i = 0;; i++) {
      for (int k = 0; k < 40; k++) sum += handle(i + k);
      if (i % REQUESTS_A_CLASS == 0) new Loader().make().run();
      Thread.sleep(PAUSE_MS);
    }
  }
}
