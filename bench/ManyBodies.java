/**
 * A JVM with thousands of compiled methods: run from its source with -Xcomp, all of the JDK's compiler that
 * it takes is compiled. Prints "ready" and waits to be killed.
 */
final class ManyBodies {
  private ManyBodies() {}

  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    Thread.currentThread().join();
  }
}
