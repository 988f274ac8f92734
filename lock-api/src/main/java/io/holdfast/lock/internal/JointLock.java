package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Several locks that are acquired together, their options, and their client. */
final class JointLock extends LockVerbs {
  private static final int NAMES_MAX = 100;

  private final EngineClient client;

  /** In the order in which all clients acquire them; at least two. */
  private final List<LockKey> keys;

  private final LockOptions options;

  /** @param keys as {@link #keys} returns them, at least two */
  JointLock(EngineClient client, List<LockKey> keys, LockOptions options) {
    this.client = client;
    this.keys = keys;
    this.options = options;
  }

  /**
   * Returns the keys of these names, each once, in the order in which all clients acquire them.
   *
   * @throws IllegalArgumentException there is no name, or too many, or one that is not allowed
   */
  static List<LockKey> keys(Collection<String> names) {
    List<LockKey> keys = new TreeSet<>(List.copyOf(names))
        .stream().map(name -> new LockKey(LockKind.MUTEX, name)).toList();
    if (keys.isEmpty()) {
      throw new IllegalArgumentException("There is no name, and so nothing to lock");
    }
    if (keys.size() > NAMES_MAX) {
      throw new IllegalArgumentException("At most "
          + NAMES_MAX
          + " names can be locked together, not "
          + keys.size()
          + ": each is a request of its own. Lock something that stands for all of them");
    }
    return keys;
  }

  @Override
  public String name() {
    return keys.stream().map(LockKey::name).collect(Collectors.joining(", "));
  }

  @Override
  public LockOptions options() {
    return options;
  }

  @Override
  public DistributedLock with(LockOptions other) {
    client.checkOptions(other);
    return new JointLock(client, keys, other);
  }

  @Override
  public Optional<Lease> tryLock() {
    try {
      return Optional.ofNullable(attempt(WaitMode.ASK_ONCE).run());
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public Optional<Lease> tryLock(Duration maxWait) throws InterruptedException {
    return Optional.ofNullable(attempt(WaitMode.upTo(maxWait, client.time())).run());
  }

  @Override
  public Lease lockWithin(Duration maxWait) throws InterruptedException {
    JointAttempt<EngineLease, Lease> attempt = attempt(WaitMode.upTo(maxWait, client.time()));
    Lease lease = attempt.run();
    if (lease == null) {
      throw attempt.timeout();
    }
    return lease;
  }

  @Override
  public Lease lock() throws InterruptedException {
    Lease lease = attempt(WaitMode.unlimited(client.time())).run();
    if (lease == null) {
      throw new AssertionError("A wait without limit ran out");
    }
    return lease;
  }

  private JointAttempt<EngineLease, Lease> attempt(WaitMode mode) {
    return new JointAttempt<>(client, keys, options, mode, client::lease, JointLease::new);
  }

  @Override
  public boolean isHeldByCurrentThread() {
    Thread thread = Thread.currentThread();
    return keys.stream().allMatch(key -> client.isHeldBy(key, thread));
  }

  @Override
  public Optional<LockHolder> inspect() {
    for (LockKey key : keys) {
      Optional<LockHolder> holder = client.questions().inspect(key);
      if (holder.isPresent()) {
        return holder;
      }
    }
    return Optional.empty();
  }

  @Override
  public List<LockHolder> holders() {
    return keys.stream()
        .flatMap(key -> client.questions().inspect(key).stream())
        .toList();
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    throw new IllegalStateException("A token is of one name, and these are several ("
        + name()
        + "): call get(name).forceRelease(token), with the name and the token of the holder that"
        + " inspect() showed");
  }

  @Override
  public Lock asLock() {
    if (options.ownership() != Ownership.THREAD) {
      throw new IllegalStateException(
          "The locks " + name() + " are owned by their leases; a Lock is owned by threads");
    }
    return new ThreadOwned();
  }

  private final class ThreadOwned extends ThreadOwnedLock {
    @Override
    boolean acquire(WaitMode mode) throws InterruptedException {
      Object all = new JointAttempt<>(
              client, keys, options, mode, client::threadOwned, handles -> handles)
          .run();
      return all != null;
    }

    @Override
    boolean release(Thread thread) {
      for (LockKey key : keys) {
        if (!client.isThreadOwned(key, thread)) {
          return false;
        }
      }
      eachInReverse(keys, key -> {
        boolean unused = client.closeOfThread(key, thread);
      });
      return true;
    }

    @Override
    TimeSource time() {
      return client.time();
    }

    @Override
    String name() {
      return JointLock.this.name();
    }
  }

  @Override
  public String toString() {
    return "DistributedLock[" + name() + ", " + options + "]";
  }

  /**
   * Does the action with each, the last one first, even if one fails; then throws the first
   * failure.
   */
  static <T> void eachInReverse(List<T> all, Consumer<? super T> action) {
    Throwable first = null;
    for (int index = all.size() - 1; index >= 0; index--) {
      try {
        action.accept(all.get(index));
      } catch (Throwable e) {
        first = first == null ? e : withSuppressed(first, e);
      }
    }
    if (first != null) {
      throw JointLock.<RuntimeException>unchecked(first);
    }
  }

  private static Throwable withSuppressed(Throwable first, Throwable next) {
    try {
      first.addSuppressed(next);
    } catch (Throwable e) {
      // There is no memory for it, or it is the same one; what follows must be done all the same.
      return first;
    }
    return first;
  }

  /** Throws this as it is: a store in another language can throw undeclared checked exceptions. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <X extends Throwable> X unchecked(@Nullable Throwable thrown) throws X {
    throw (X) thrown;
  }
}
