package io.holdfast.lock.bench.candidate;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's read-write locks: one of each name for all threads of the JVM. */
final class CuratorReadWriteLocks implements Client {
  private final CuratorFramework framework;
  private final Map<String, InterProcessReadWriteLock> locks = new ConcurrentHashMap<>();

  CuratorReadWriteLocks(CuratorFramework framework) {
    this.framework = framework;
  }

  private InterProcessReadWriteLock lock(String name) {
    return locks.computeIfAbsent(
        name, any -> new InterProcessReadWriteLock(framework, "/bench-curator-read-write/" + any));
  }

  @Override
  public Handle mutex(String name) {
    return write(name);
  }

  @Override
  public Handle read(String name) {
    return handle(lock(name).readLock());
  }

  @Override
  public Handle write(String name) {
    return handle(lock(name).writeLock());
  }

  private static Handle handle(InterProcessMutex lock) {
    return Handle.of(lock::acquire, lock::release);
  }
}
