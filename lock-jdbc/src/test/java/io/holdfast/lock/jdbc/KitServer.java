package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.fault.FaultProxy;

/** A database server that the kit runs on, and can break if it is a container's. */
interface KitServer extends AutoCloseable {
  String url();

  /** The JDBC URL of the database through this proxy. */
  String url(FaultProxy proxy);

  /** Opens a proxy in front of the server. */
  FaultProxy openProxy();

  String user();

  String password();

  /** The column that numbers the entries of a log. */
  String identityColumn();

  @Override
  void close();
}
