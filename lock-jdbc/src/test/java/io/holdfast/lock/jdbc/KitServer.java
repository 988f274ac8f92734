package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.fault.FaultProxy;

/** A database server that the kit runs on, and can break if it is a container's. */
interface KitServer extends AutoCloseable {
  String host();

  int port();

  /** The JDBC URL of the database through that address. */
  String url(String host, int port);

  String user();

  String password();

  /** The column that numbers the entries of a log. */
  String identityColumn();

  default String url() {
    return url(host(), port());
  }

  default String url(FaultProxy proxy) {
    return url(proxy.host(), proxy.port());
  }

  @Override
  void close();
}
