package io.holdfast.lock.consul;

import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.util.List;

/** A child process's way to an agent: its address. */
@SuppressWarnings("exports") // Only child processes of the tests load it.
public final class ClassicAccessFactory implements StoreAccessFactory {
  /** For the child process. */
  public ClassicAccessFactory() {}

  @Override
  public StoreAccess open(List<String> arguments) {
    return new ClassicAccess(arguments.get(0));
  }
}
