package io.holdfast.lock.redis.server;

import java.net.ServerSocket;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;

/** Connections on which nothing is sent at first, to a server that a test plays. */
public final class PlainConnections extends BasePooledObjectFactory<Connection> {
  private final HostAndPort address;

  public PlainConnections(ServerSocket server) {
    this.address = new HostAndPort(server.getInetAddress().getHostAddress(), server.getLocalPort());
  }

  @Override
  public Connection create() {
    return new Connection(address);
  }

  @Override
  public PooledObject<Connection> wrap(Connection connection) {
    return new DefaultPooledObject<>(connection);
  }
}
