/** Compiled with -g:lines: line numbers, but no SourceFile. */
final class AgentLines {
  private AgentLines() {}

  static int work(int x) {
    int sum = 0;
    for (int i = 0; i < 16; i++) {
      sum += x ^ i; // here: lines
    }
    return sum;
  }
}
