/** Compiled with -g:none: no SourceFile, no line numbers. */
final class AgentBare {
  private AgentBare() {}

  static int work(int x) {
    int sum = 0;
    for (int i = 0; i < 16; i++) {
      sum += x ^ i;
    }
    return sum;
  }
}
