package io.holdfast.lock.spring.boot;

import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;
import org.testcontainers.containers.Container;

/** ZooKeeper in a container of a test, with {@code @ServiceConnection}. */
class ZooKeeperContainerConnectionDetailsFactory
    extends ContainerConnectionDetailsFactory<Container<?>, ZooKeeperConnectionDetails> {
  private static final int PORT = 2181;

  ZooKeeperContainerConnectionDetailsFactory() {
    super("zookeeper");
  }

  @Override
  protected ZooKeeperConnectionDetails getContainerConnectionDetails(
      ContainerConnectionSource<Container<?>> source) {
    return new Details(source);
  }

  private static final class Details extends ContainerConnectionDetails<Container<?>>
      implements ZooKeeperConnectionDetails {
    Details(ContainerConnectionSource<Container<?>> source) {
      super(source);
    }

    @Override
    public String getConnectString() {
      return getContainer().getHost() + ":" + getContainer().getMappedPort(PORT);
    }
  }
}
