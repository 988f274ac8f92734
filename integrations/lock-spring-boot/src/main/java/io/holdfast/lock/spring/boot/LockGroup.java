package io.holdfast.lock.spring.boot;

/**
 * The function that makes the tag {@code group} of the auto-configured client's meters: a bean of
 * this type replaces the default, with which all names are in the group {@code all}. What
 * {@code LockMetrics} asks of its group function applies.
 */
@FunctionalInterface
public interface LockGroup {
  /**
   * Returns the group of a lock's name, for example {@code orders} of {@code orders/42}; the same
   * for the same name, quickly, and neither null nor blank.
   */
  String of(String lockName);
}
