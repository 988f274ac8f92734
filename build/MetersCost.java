import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.micrometer.LockMetrics;
import io.holdfast.lock.redis.RedisLocks;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import redis.clients.jedis.RedisClient;

/**
 * The program behind dev/meters-cost: what an uncontended cycle (lock and close, one thread) costs
 * with meters, and with observations besides, beside one without. All take turns in one JVM, round
 * by round, in an order that rotates, so that whatever disturbs the machine disturbs all alike. A
 * ratio is that of two blocks of the same round. A second client without meters shows how far off
 * such a ratio is when there is nothing to see.
 */
public class MetersCost {
  private static final long WARM_UP_NANOS = 8_000_000_000L;
  private static final long BLOCK_NANOS = 30_000_000L;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** One of those that are compared. */
  private record Contestant(String what, LockClient client, DistributedLock lock) {
    Contestant(String what, LockClient client) {
      this(what, client, client.get("orders/42"));
    }

    /** Returns the time and the CPU time of a cycle, in nanoseconds. */
    double[] block(int cycles) throws InterruptedException {
      long cpu = THREADS.getCurrentThreadCpuTime();
      long began = System.nanoTime();
      for (int i = 0; i < cycles; i++) {
        lock.lock().close();
      }
      long ended = System.nanoTime();
      return new double[] {
        (double) (ended - began) / cycles,
        (double) (THREADS.getCurrentThreadCpuTime() - cpu) / cycles
      };
    }
  }

  /** @param args the number of rounds, and the URL of a Redis server */
  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    System.out.printf(
        "%d rounds; median of the ratios, with its 95 %% interval; CPU time of the calling thread%n",
        rounds);
    measure("in memory", rounds, () -> InMemoryLocks.builder());
    try (RedisClient redis = RedisClient.create(args[1])) {
      measure("Redis", rounds, () -> RedisLocks.builder(redis).prefix("cost-" + System.nanoTime()));
    }
  }

  private static void measure(String store, int rounds, Supplier<LockClientBuilder<?>> builder)
      throws Exception {
    List<Contestant> contestants = List.of(
        new Contestant("without meters", builder.get().build()),
        new Contestant("without meters, again", builder.get().build()),
        new Contestant("meters", builder.get().addListener(metrics(false)).build()),
        new Contestant(
            "meters, observations", builder.get().addListener(metrics(true)).build()));
    try {
      int cycles = warmUp(contestants);
      double[][][] found = new double[contestants.size()][rounds][];
      List<Integer> order = new ArrayList<>(List.of(0, 1, 2, 3));
      for (int round = 0; round < rounds; round++) {
        for (int one : order) {
          found[one][round] = contestants.get(one).block(cycles);
        }
        Collections.rotate(order, 1);
        if (round % order.size() == 0) {
          // Else each would have the same predecessor each time.
          Collections.shuffle(order);
        }
      }
      for (int one = 0; one < contestants.size(); one++) {
        print(store + ", " + contestants.get(one).what(), found[one], found[0]);
      }
    } finally {
      contestants.forEach(one -> one.client().close());
    }
  }

  private static LockMetrics metrics(boolean isObserved) {
    MeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    LockMetrics.Builder builder = LockMetrics.builder(registry, "shop", "store")
        .group(name -> name.substring(0, name.indexOf('/')));
    if (isObserved) {
      ObservationRegistry observations = ObservationRegistry.create();
      // As Spring Boot has it without tracing.
      observations
          .observationConfig()
          .observationHandler(new DefaultMeterObservationHandler(registry));
      builder.observations(observations);
    }
    return builder.build();
  }

  /** Returns how many cycles a block has. */
  private static int warmUp(List<Contestant> contestants) throws InterruptedException {
    double cycleNanos = 0;
    long until = System.nanoTime() + WARM_UP_NANOS;
    while (System.nanoTime() - until < 0) {
      for (Contestant one : contestants) {
        cycleNanos = one.block(500)[0];
      }
    }
    return (int) Math.max(20, BLOCK_NANOS / cycleNanos);
  }

  private static void print(String what, double[][] found, double[][] base) {
    int rounds = found.length;
    double[] ratios = new double[rounds];
    for (int i = 0; i < rounds; i++) {
      ratios[i] = found[i][0] / base[i][0];
    }
    Arrays.sort(ratios);
    // The order statistics between which the median is with a probability of 95 %.
    int off = (int) Math.ceil(0.98 * Math.sqrt(rounds));
    System.out.printf(
        Locale.ROOT,
        "%-35s %9.2f us, CPU %6.2f us, ratio %.3f (%.3f to %.3f)%n",
        what,
        median(found, 0) / 1e3,
        median(found, 1) / 1e3,
        ratios[rounds / 2],
        ratios[Math.max(0, rounds / 2 - off)],
        ratios[Math.min(rounds - 1, rounds / 2 + off)]);
  }

  private static double median(double[][] found, int which) {
    return Arrays.stream(found).mapToDouble(one -> one[which]).sorted().toArray()[found.length / 2];
  }
}
