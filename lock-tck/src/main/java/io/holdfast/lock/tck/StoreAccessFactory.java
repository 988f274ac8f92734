package io.holdfast.lock.tck;

import java.util.List;

/**
 * Opens a child process's access to the store. Implementations must be public classes with a public
 * constructor without parameters, on the class path of the tests.
 */
@FunctionalInterface
public interface StoreAccessFactory {
  /** Opens the access that is described by these arguments. */
  StoreAccess open(List<String> arguments) throws Exception;
}
