package io.holdfast.lock.internal;

import io.holdfast.lock.JointLease;
import io.holdfast.lock.JointLock;
import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Several locks that are acquired together, their options, and their leases. */
final class EngineJointLock extends ThreadOwnable<JointLease> implements JointLock {
  private static final int NAMES_MAX = 100;

  /** In the order in which all clients acquire them; at least one. */
  private final List<LockKey> keys;

  /** @param keys as {@link #keys} returns them */
  EngineJointLock(Leases leases, List<LockKey> keys, LockOptions options) {
    super(leases, options);
    this.keys = keys;
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
      throw new IllegalArgumentException(("At most %s names can be locked together, not %s: each is"
              + " a request of its own. Lock something that stands for all of them")
          .formatted(NAMES_MAX, keys.size()));
    }
    return keys;
  }

  @Override
  public List<String> names() {
    return keys.stream().map(LockKey::name).toList();
  }

  @Override
  String shownName() {
    return String.join(", ", names());
  }

  @Override
  public JointLock with(LockOptions other) {
    leases.parts.checkOptions(other);
    return new EngineJointLock(leases, keys, other);
  }

  @Override
  Outcome<JointLease> acquire(WaitMode mode) throws InterruptedException {
    return new JointAttempt<JointLease>(leases, keys, options, mode, this::lease).run();
  }

  private JointLease lease(List<Handle> handles) {
    return new EngineJointLease(handles.stream().map(leases::lease).toList());
  }

  @Override
  boolean acquireForThread(WaitMode mode) throws InterruptedException {
    Outcome<List<Handle>> outcome =
        new JointAttempt<>(leases, keys, options, mode, this::threadOwned).run();
    return outcome instanceof Attempt.Acquired;
  }

  private List<Handle> threadOwned(List<Handle> handles) {
    return handles.stream().map(leases::threadOwned).toList();
  }

  @Override
  boolean releaseForThread() {
    Thread thread = Thread.currentThread();
    for (LockKey key : keys) {
      if (leases.lastThreadOwned(key, Claim.EXCLUSIVE, thread) == null) {
        return false;
      }
    }
    eachInReverse(keys, key -> {
      boolean unused = leases.closeOfThread(key, Claim.EXCLUSIVE, thread);
    });
    return true;
  }

  @Override
  public boolean isHeldByCurrentThread() {
    Thread thread = Thread.currentThread();
    return keys.stream().allMatch(key -> leases.isHeldBy(key, Claim.EXCLUSIVE, thread));
  }

  @Override
  public List<LockHolder> holders() {
    return keys.stream().flatMap(key -> leases.questions.inspect(key).stream()).toList();
  }

  @Override
  public String toString() {
    return "JointLock[" + shownName() + ", " + options + "]";
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
      throw EngineJointLock.<RuntimeException>unchecked(first);
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
