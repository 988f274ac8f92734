package io.holdfast.lock.spring.boot;

import java.util.List;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;
import org.testcontainers.containers.Container;

/** Consul in a container of a test, with {@code @ServiceConnection}. */
class ConsulContainerConnectionDetailsFactory
    extends ContainerConnectionDetailsFactory<Container<?>, ConsulConnectionDetails> {
  private static final int PORT = 8500;

  ConsulContainerConnectionDetailsFactory() {
    super(List.of("consul", "hashicorp/consul"));
  }

  @Override
  protected ConsulConnectionDetails getContainerConnectionDetails(
      ContainerConnectionSource<Container<?>> source) {
    return new Details(source);
  }

  private static final class Details extends ContainerConnectionDetails<Container<?>>
      implements ConsulConnectionDetails {
    Details(ContainerConnectionSource<Container<?>> source) {
      super(source);
    }

    @Override
    public String getAddress() {
      return "http://" + getContainer().getHost() + ":" + getContainer().getMappedPort(PORT);
    }
  }
}
