package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import java.util.ArrayList;
import java.util.List;

/** The stores of several clients. */
final class Clients implements AutoCloseable {
  final List<JdbcStore> stores = new ArrayList<>();
  private final HikariDataSource pool;

  Clients(Server server, int clients) throws Exception {
    pool = server.pool(3 * clients + 2);
    for (int i = 0; i < clients; i++) {
      stores.add(Stores.open(pool));
    }
  }

  @Override
  public void close() {
    stores.forEach(JdbcStore::close);
    pool.close();
  }
}
