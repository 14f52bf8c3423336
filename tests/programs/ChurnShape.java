/** A subclass that comes and goes: its loading invalidates code that relied on there being none. */
public final class ChurnShape extends Churn.Shape {
  @Override
  public int area(int side) {
    return side * 4;
  }
}
