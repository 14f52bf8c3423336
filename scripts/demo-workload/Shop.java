import java.util.HashMap;
import java.util.Map;

/** A small shop that never closes: the workload of scripts/demo. It runs without any special flag. */
public final class Shop {
    private final Map<Integer, Long> stock = new HashMap<>();
    private long turnover;

    /** Sells some pieces of an article; big enough, and called from enough places, to be compiled on its own. */
    long checkout(int article, long pieces, boolean express, char currency) {
        long left = stock.getOrDefault(article, 1_000L);
        if (left < pieces) {
            left = 1_000L;
        }
        stock.put(article, left - pieces);
        long price = 0;
        for (int i = 0; i < 40; i++) {
            price += (article * 31L + i) % 97 + (express ? 3 : 0) + currency % 5;
        }
        for (long i = 0; i < pieces; i++) {
            price = price * 3 / 2 + (price >> 3) % 11;
            if (price > 1_000_000) {
                price %= 9_973;
            }
        }
        turnover += price;
        return price;
    }

    /** What a profile finds: the accounts never rest. */
    static long audit(long seed) {
        long sum = 0;
        for (int line = 0; line < 2_000; line++) {
            sum += Long.bitCount(seed * line) + ledger(seed + line);
        }
        return sum;
    }

    static long ledger(long entry) {
        StringBuilder text = new StringBuilder();
        for (int column = 0; column < 4; column++) {
            text.append(entry >> column).append(';');
        }
        return text.toString().hashCode();
    }

    public static void main(String[] arguments) throws Exception {
        Shop shop = new Shop();
        Thread accounts = new Thread(() -> {
            for (long seed = 0; ; seed++) {
                audit(seed);
            }
        }, "accounts");
        accounts.setDaemon(true);
        accounts.start();
        // Warm up until the method has its own compiled body, then open for customers.
        for (int i = 0; i < 300_000; i++) {
            shop.checkout(i % 500, i % 9 + 1, i % 2 == 0, '€');
        }
        System.out.println("open");
        System.out.flush();
        for (int customer = 0; ; customer++) {
            shop.checkout(customer % 500, customer % 9 + 1, customer % 2 == 0, '€');
            Thread.sleep(20);
        }
    }
}
