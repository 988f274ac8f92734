package io.holdfast.lock.spring;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.JdbcTransactionObjectSupport;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** A manager that does not expose its connection, as that of JPA without a vendor's dialect. */
@SuppressWarnings("serial")
final class UnexposedTransactionManager extends AbstractPlatformTransactionManager {
  private final DataSource dataSource;

  /** The connection of the one transaction. */
  private Connection connection;

  UnexposedTransactionManager(DataSource dataSource) {
    this.dataSource = dataSource;
  }

  public DataSource getDataSource() {
    return dataSource;
  }

  void insert() {
    attempt(() -> connection.createStatement().executeUpdate("INSERT INTO sold VALUES (1)"));
  }

  @Override
  protected Object doGetTransaction() {
    Begun begun = new Begun();
    begun.setConnectionHolder(
        (ConnectionHolder) TransactionSynchronizationManager.getResource(dataSource));
    return begun;
  }

  @Override
  protected void doBegin(Object transaction, TransactionDefinition definition) {
    attempt(() -> {
      connection = dataSource.getConnection();
      connection.setAutoCommit(false);
    });
  }

  @Override
  protected void doCommit(DefaultTransactionStatus status) {
    attempt(() -> connection.commit());
  }

  @Override
  protected void doRollback(DefaultTransactionStatus status) {
    attempt(() -> connection.rollback());
  }

  @Override
  protected void doCleanupAfterCompletion(Object transaction) {
    attempt(() -> connection.close());
  }

  private static void attempt(Step step) {
    try {
      step.run();
    } catch (SQLException e) {
      throw new TransactionSystemException("The database refused", e);
    }
  }

  private interface Step {
    void run() throws SQLException;
  }

  private static final class Begun extends JdbcTransactionObjectSupport {
    @Override
    public boolean isRollbackOnly() {
      return false;
    }
  }
}
