import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.micrometer.LockMetrics;
import io.holdfast.lock.redis.RedisLocks;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import redis.clients.jedis.RedisClient;

/**
 * The program of dev/meters-cost: the time of an uncontended cycle on Redis (lock and close, one
 * thread) with meters, beside one without. Clients take turns in one JVM, round by round, in a new
 * order each time, so that a disturbance of the machine affects all alike. A ratio is that of two
 * blocks of one round. A second client without meters shows how far off a ratio is by chance.
 */
public class MetersCost {
  private static final double RATIO_MAX = 1.03;
  private static final long WARM_UP_NANOS = 12_000_000_000L;
  private static final int BLOCK_CYCLES = 200;

  /** @param args the number of rounds, and the URL of a Redis server */
  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    try (RedisClient redis = RedisClient.create(args[1]);
        LockClient without = RedisLocks.builder(redis).prefix("without").build();
        LockClient again = RedisLocks.builder(redis).prefix("again").build();
        LockClient with = metered(RedisLocks.builder(redis).prefix("with")).build()) {
      List<DistributedLock> locks =
          List.of(without.get("orders/42"), again.get("orders/42"), with.get("orders/42"));
      double[][] micros = new double[locks.size()][rounds];
      long until = System.nanoTime() + WARM_UP_NANOS;
      while (System.nanoTime() - until < 0) {
        measure(locks, micros, 0);
      }
      for (int round = 0; round < rounds; round++) {
        measure(locks, micros, round);
      }
      System.out.printf(
          Locale.ROOT, "%d rounds; without meters %.1f us%n", rounds, median(micros[0]));
      print("without meters, again", micros[1], micros[0]);
      double ratio = print("with meters", micros[2], micros[0]);
      System.exit(ratio <= RATIO_MAX ? 0 : 1);
    }
  }

  private static LockClientBuilder<?> metered(LockClientBuilder<?> builder) {
    return builder.addListener(
        LockMetrics.builder(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), "shop", "redis")
            .group(name -> name.substring(0, name.indexOf('/')))
            .build());
  }

  private static void measure(List<DistributedLock> locks, double[][] micros, int round)
      throws InterruptedException {
    List<Integer> order = new ArrayList<>(List.of(0, 1, 2));
    Collections.shuffle(order);
    for (int which : order) {
      DistributedLock lock = locks.get(which);
      long began = System.nanoTime();
      for (int i = 0; i < BLOCK_CYCLES; i++) {
        lock.lock().close();
      }
      micros[which][round] = (System.nanoTime() - began) / 1e3 / BLOCK_CYCLES;
    }
  }

  /** Prints the median of the ratios, with its 95 % interval. */
  private static double print(String what, double[] micros, double[] base) {
    int rounds = micros.length;
    double[] ratios = new double[rounds];
    Arrays.setAll(ratios, round -> micros[round] / base[round]);
    Arrays.sort(ratios);
    int off = (int) Math.ceil(0.98 * Math.sqrt(rounds));
    System.out.printf(
        Locale.ROOT,
        "%s: %.1f us, ratio %.3f (%.3f to %.3f)%n",
        what,
        median(micros),
        ratios[rounds / 2],
        ratios[Math.max(0, rounds / 2 - off)],
        ratios[Math.min(rounds - 1, rounds / 2 + off)]);
    return ratios[rounds / 2];
  }

  private static double median(double[] values) {
    return Arrays.stream(values).sorted().toArray()[values.length / 2];
  }
}
