package io.holdfast.lock.spring.boot;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * The address of Consul, as a bean. Such a bean is used in place of the property
 * {@code holdfast.consul.address}; a container with {@code @ServiceConnection} makes one.
 */
public interface ConsulConnectionDetails extends ConnectionDetails {
  /** Returns the address of Consul's HTTP interface: {@code http://host:port}. */
  String getAddress();
}
