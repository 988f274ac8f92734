package io.holdfast.lock.tck;

import java.util.List;

/**
 * How a child process reaches the store. Implementations are public classes with a public
 * constructor without parameters, on the class path of the tests.
 */
@FunctionalInterface
public interface StoreAccessFactory {
  /** Opens the access that these arguments describe. */
  StoreAccess open(List<String> arguments) throws Exception;
}
