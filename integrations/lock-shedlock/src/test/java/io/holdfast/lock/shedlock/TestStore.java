package io.holdfast.lock.shedlock;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.ConsulLocks;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Database;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.net.URI;
import java.time.Duration;
import javax.sql.DataSource;
import okhttp3.OkHttpClient;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import redis.clients.jedis.RedisClient;

/** A real store, with a client as an application has one, and another that observes its locks. */
final class TestStore implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  private final LockClient client;
  private final LockClient observer;
  private final Runnable[] closeBelow;

  private TestStore(LockClientBuilder<?> builder, Runnable... closeBelow) {
    this.client = builder.build();
    this.observer = builder.build();
    this.closeBelow = closeBelow;
    Await.until("the store answers", STARTUP_MAX, this::answers);
  }

  LockClient client() {
    return client;
  }

  boolean isTaken(String lockName) {
    return observer.get(lockName).inspect().isPresent();
  }

  private boolean answers() {
    try {
      client.get("ready").tryLock().ifPresent(Lease::close);
      return true;
    } catch (LockStoreException e) {
      return false;
    }
  }

  @Override
  public void close() {
    client.close();
    observer.close();
    for (Runnable close : closeBelow) {
      close.run();
    }
  }

  static TestStore h2() {
    HikariDataSource pool = h2Pool("suite");
    return new TestStore(builder(pool), pool::close);
  }

  /** A database in this process, with this name. */
  static HikariDataSource h2Pool(String name) {
    return pool("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1", "sa");
  }

  static TestStore postgres() {
    return of(Database.postgres("-c", "synchronous_commit=off"));
  }

  static TestStore mySql() {
    return of(Database.mySql("--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0"));
  }

  private static TestStore of(Database database) {
    HikariDataSource pool = pool(database.url(), database.user());
    return new TestStore(builder(pool), pool::close, database::close);
  }

  static TestStore redis() {
    ServerContainer server = ServerContainer.start(Image.REDIS);
    RedisClient redis = RedisClient.create(URI.create("redis://" + server.address()));
    return new TestStore(RedisLocks.builder(redis), redis::close, server::close);
  }

  static TestStore zooKeeper() {
    ServerContainer server = ServerContainer.start(Image.ZOOKEEPER);
    CuratorFramework curator =
        CuratorFrameworkFactory.newClient(server.address(), new RetryForever(100));
    curator.start();
    return new TestStore(ZooKeeperLocks.builder(curator), curator::close, server::close);
  }

  static TestStore consul() {
    ServerContainer server = ServerContainer.start(Image.CONSUL);
    return new TestStore(
        ConsulLocks.builder(new OkHttpClient(), "http://" + server.address()), server::close);
  }

  static LockClientBuilder<?> builder(DataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
  }

  static HikariDataSource pool(String url, String user) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(user);
    config.setPassword(Image.PASSWORD);
    return new HikariDataSource(config);
  }
}
