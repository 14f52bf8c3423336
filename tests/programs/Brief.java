/** A JVM that lives a quarter of a second or so, most of it in one compiled method. */
public class Brief {
    static long churn(long seed) {
        long value = seed;
        for (int i = 0; i < 1000; i++) {
            value = value * 6364136223846793005L + i;
        }
        return value;
    }

    public static void main(String[] arguments) {
        long sum = 0;
        for (int i = 0; i < 150_000; i++) {
            sum += churn(i);
        }
        System.out.println("done " + sum);
    }
}
