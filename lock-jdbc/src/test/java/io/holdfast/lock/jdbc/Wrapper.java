package io.holdfast.lock.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** A data source around another. */
abstract class Wrapper implements DataSource {
  final DataSource wrapped;

  Wrapper(DataSource wrapped) {
    this.wrapped = wrapped;
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    throw new SQLException("Not used");
  }

  @Override
  public PrintWriter getLogWriter() throws SQLException {
    return wrapped.getLogWriter();
  }

  @Override
  public void setLogWriter(PrintWriter out) throws SQLException {
    wrapped.setLogWriter(out);
  }

  @Override
  public void setLoginTimeout(int seconds) throws SQLException {
    wrapped.setLoginTimeout(seconds);
  }

  @Override
  public int getLoginTimeout() throws SQLException {
    return wrapped.getLoginTimeout();
  }

  @Override
  public Logger getParentLogger() {
    return Logger.getGlobal();
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("Does not unwrap");
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
