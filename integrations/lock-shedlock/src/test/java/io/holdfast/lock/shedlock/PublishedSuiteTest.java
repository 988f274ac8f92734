package io.holdfast.lock.shedlock;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The published suite on every store; in {@code dev/verify}, on H2 and PostgreSQL. */
class PublishedSuiteTest {

  @Nested
  @Execution(ExecutionMode.CONCURRENT)
  class OnH2 extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.h2();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }

  @Nested
  @Execution(ExecutionMode.CONCURRENT)
  class OnPostgres extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.postgres();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnMySql extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.mySql();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnRedis extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.redis();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnZooKeeper extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.zooKeeper();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnConsul extends PublishedSuite {
    private static TestStore store;

    @BeforeAll
    static void start() {
      store = TestStore.consul();
    }

    @AfterAll
    static void stop() {
      if (store != null) {
        store.close();
      }
    }

    @Override
    TestStore store() {
      return store;
    }
  }
}
