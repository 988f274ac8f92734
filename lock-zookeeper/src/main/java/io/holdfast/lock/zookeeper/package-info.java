/**
 * Locks in ZooKeeper. Start with {@link io.holdfast.lock.zookeeper.ZooKeeperLocks}.
 *
 * <p>{@link io.holdfast.lock.zookeeper.ZooKeeperGuard} makes writes in ZooKeeper conditional on a
 * lease, so that a stale holder can't make them.
 */
@NullMarked
package io.holdfast.lock.zookeeper;

import org.jspecify.annotations.NullMarked;
