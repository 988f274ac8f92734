package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.fault.FaultProxy;
import java.sql.SQLException;
import java.util.UUID;
import org.h2.tools.Server;

/** H2, served over TCP by this process from its memory. */
final class KitH2 implements KitServer {
  /** H2's driver can't be told per call how long to wait for the network, only in the URL. */
  private final String database =
      "mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=800;NETWORK_TIMEOUT=1500";

  private final Server server;

  KitH2() throws SQLException {
    server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
  }

  @Override
  public String url() {
    return url("127.0.0.1", server.getPort());
  }

  @Override
  public String url(FaultProxy proxy) {
    return url(proxy.host(), proxy.port());
  }

  private String url(String host, int port) {
    return "jdbc:h2:tcp://" + host + ":" + port + "/" + database;
  }

  @Override
  public FaultProxy openProxy() {
    return FaultProxy.open("127.0.0.1", server.getPort());
  }

  @Override
  public String user() {
    return "sa";
  }

  @Override
  public String password() {
    return "";
  }

  @Override
  public String identityColumn() {
    return "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  }

  @Override
  public void close() {
    server.stop();
  }
}
