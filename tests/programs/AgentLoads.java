/**
 * A program that knows its lines, for the agent: "go N" calls a hot loop N times, in which a method
 * of this class and those of two classes with less debug information are inlined or called. The
 * comments "here:" name lines that the test looks for.
 */
public final class AgentLoads {
  private AgentLoads() {}

  static int leaf(int x) {
    return x * 31 + (x >>> 3); // here: leaf
  }

  static int middle(int[] values, int x) {
    int sum = 0;
    for (int i = 0; i < 64; i++) {
      sum += leaf(x + i); // here: middle
      values[i & 7] += sum; // here: store
    }
    return sum;
  }

  static int reference(int x) {
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += (x + i) * 31 + ((x + i) >>> 3);
    return sum;
  }

  private static String go(int n) {
    int errors = 0;
    int[] values = new int[8];
    for (int i = 0; i < n; i++) {
      if (middle(values, i) != reference(i)) errors++;
      if (AgentBare.work(i) != AgentLines.work(i)) errors++;
    }
    return n + " errors " + errors;
  }

  public static void main(String[] args) throws Exception {
    new Session().on("go", AgentLoads::go).serve();
  }
}
