package io.holdfast.lock.consul;

import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.util.List;

/** The factory of a child process for its access to an agent, from the address. */
@SuppressWarnings("exports") // Only child processes of the tests load it.
public final class ConsulAccessFactory implements StoreAccessFactory {
  /** For the child process. */
  public ConsulAccessFactory() {}

  @Override
  public StoreAccess open(List<String> arguments) {
    return new ConsulAccess(arguments.get(0));
  }
}
