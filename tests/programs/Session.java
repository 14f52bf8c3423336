import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The line protocol between a test and its Java program: the program prints "ready PID", then answers
 * every line "VERB N" on standard input with one line "VERB REPLY". The end of the input ends it. What
 * stands here and in most programs is there since JDK 8, so that tests can run on it.
 */
final class Session {
  interface Handler {
    String handle(int n) throws Exception;
  }

  private final Map<String, Handler> handlers = new HashMap<>();
  private final PrintStream out;

  Session() throws IOException {
    out = new PrintStream(System.out, true, "UTF-8");
  }

  Session on(String verb, Handler handler) {
    handlers.put(verb, handler);
    return this;
  }

  void line(String text) {
    out.println(text);
  }

  void serve() throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    line("ready " + new File("/proc/self").getCanonicalFile().getName());
    for (String text = in.readLine(); text != null; text = in.readLine()) {
      String[] words = text.trim().split(" +");
      Handler handler = handlers.get(words[0]);
      if (handler == null) {
        line("unknown " + words[0]);
        continue;
      }
      int n = words.length > 1 ? Integer.parseInt(words[1]) : 0;
      line(words[0] + " " + handler.handle(n));
    }
  }
}
