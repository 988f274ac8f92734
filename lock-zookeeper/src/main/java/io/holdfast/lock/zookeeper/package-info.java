/** Distributed locks in ZooKeeper: {@link io.holdfast.lock.zookeeper.ZooKeeperLocks}. */
@NullMarked
package io.holdfast.lock.zookeeper;

import org.jspecify.annotations.NullMarked;
