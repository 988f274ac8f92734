package io.holdfast.lock.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;

/** Connections that don't unwrap. */
final class Opaque {
  private Opaque() {}

  static Connection around(Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("isWrapperFor")) {
            return false;
          }
          try {
            return method.invoke(connection, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }
}
