package io.holdfast.lock.shedlock;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The published suite on every store; in {@code dev/verify}, on H2 and PostgreSQL. */
class PublishedSuiteTest {

  @Nested
  @Execution(ExecutionMode.CONCURRENT)
  class OnH2 extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.h2();
    }
  }

  @Nested
  @Execution(ExecutionMode.CONCURRENT)
  class OnPostgres extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.postgres();
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnMySql extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.mySql();
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnRedis extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.redis();
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnZooKeeper extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.zooKeeper();
    }
  }

  @Nested
  @Tag("nightly")
  @Execution(ExecutionMode.CONCURRENT)
  class OnConsul extends PublishedSuite {
    @Override
    TestStore open() {
      return TestStore.consul();
    }
  }
}
