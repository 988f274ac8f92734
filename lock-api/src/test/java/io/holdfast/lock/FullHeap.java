package io.holdfast.lock;

import io.holdfast.lock.simulation.MonitorStore;
import io.holdfast.lock.spi.TimeSource;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A process of its own whose heap is full for half a second, several times, while leases are held,
 * lost and taken; then it is not. Says how the client is afterwards.
 */
final class FullHeap {
  private static final Duration TTL = Duration.ofSeconds(2);
  private static final int LEASES = 2_000;
  private static final int TIMES = 6;
  private static final Duration FULL = Duration.ofMillis(500);

  private FullHeap() {}

  public static void main(String[] args) throws Exception {
    linkWhatIsUsedOnAFullHeap();
    MonitorStore store = new MonitorStore(TimeSource.system());
    LockClient client = store
        .client()
        .clientName("full")
        .storeTimeout(TTL.dividedBy(8))
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < LEASES; i++) {
      leases.add(client.get("x" + i).lock().detach());
    }
    // The second half is held through it all; the rest is taken anew where it was lost.
    for (int time = 0; time < TIMES; time++) {
      fillFor(FULL);
      for (int i = 0; i < LEASES / 2; i++) {
        replace(leases, i, client, time);
      }
      // The engine has the heap for itself between two times.
      Thread.sleep(200);
    }
    // Real time has to pass: it is asked if leases are renewed, and not renewed too often.
    Thread.sleep(TTL.toMillis());
    int renewalsBefore = store.renewals();
    Lease canary = client.get("canary").lock();
    Thread.sleep(2 * TTL.toMillis());
    int renewals = store.renewals() - renewalsBefore;
    boolean isHeld = canary.isHeld();
    canary.close();
    leases.forEach(FullHeap::closeQuietly);
    leases.clear();
    long untilNanos = System.nanoTime() + TTL.multipliedBy(5).toNanos();
    while (store.held() > 0 && System.nanoTime() - untilNanos < 0) {
      System.gc();
      Thread.sleep(50);
    }
    long left = store.held();
    client.close();
    System.out.printf("RESULT held=%s renewals=%d left=%d%n", isHeld, renewals, left);
    // Whatever threads are left must not keep the process.
    Runtime.getRuntime().halt(0);
  }

  /** A class that is used here for the first time is looked up on the heap, which needs memory. */
  private static void linkWhatIsUsedOnAFullHeap() {
    try {
      throw new OutOfMemoryError("none, in fact");
    } catch (OutOfMemoryError e) {
      fillFor(Duration.ZERO);
    }
  }

  private static void fillFor(Duration duration) {
    Object[] chain = null;
    int size = 1 << 16;
    long untilNanos = System.nanoTime() + duration.toNanos();
    try {
      while (System.nanoTime() - untilNanos < 0) {
        try {
          Object[] next = new Object[size];
          next[0] = chain;
          chain = next;
        } catch (OutOfMemoryError e) {
          size = Math.max(1, size / 2);
        }
      }
    } finally {
      Reference.reachabilityFence(chain);
    }
  }

  /** Takes a lock in place of one that was lost, if there is memory for that. */
  private static void replace(List<Lease> leases, int i, LockClient client, int time) {
    try {
      Lease lease = leases.get(i);
      if (!lease.isHeld()) {
        closeQuietly(lease);
        Lease next = client.get("y" + time + "-" + i).lock().detach();
        leases.set(i, next);
      }
    } catch (LockException | OutOfMemoryError | InterruptedException e) {
      // The next time.
    }
  }

  private static void closeQuietly(Lease lease) {
    try {
      lease.close();
    } catch (LockException | OutOfMemoryError e) {
      // It was lost, say.
    }
  }
}
