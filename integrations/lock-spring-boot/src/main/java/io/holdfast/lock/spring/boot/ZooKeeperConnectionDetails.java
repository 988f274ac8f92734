package io.holdfast.lock.spring.boot;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * The servers of ZooKeeper, as a bean. Such a bean is used in place of the property
 * {@code holdfast.zookeeper.connect-string}; a container with {@code @ServiceConnection} makes one.
 */
public interface ZooKeeperConnectionDetails extends ConnectionDetails {
  /** Returns the servers of ZooKeeper, as Curator takes them: {@code host:port,host:port}. */
  String getConnectString();
}
