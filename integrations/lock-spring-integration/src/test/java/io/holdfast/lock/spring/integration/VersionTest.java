package io.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.SpringVersion;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/** These tests run on every supported line of Spring Integration. */
@Tag("each-spring-integration")
class VersionTest {
  /** The line of the version; by default the newest, which the build compiles with. */
  private static final String EXPECTED = System.getProperty("spring.integration.expected", "7.1.");

  @Test
  void theTestsRunOnTheVersionThatTheBuildMeans() {
    assertThat(LockRegistry.class.getPackage().getImplementationVersion()).startsWith(EXPECTED);
    assertThat(SpringVersion.getVersion()).startsWith(EXPECTED.startsWith("6.") ? "6.2." : "7.0.");
    assertThat(LockRegistry.class.getTypeParameters()).hasSize(EXPECTED.startsWith("6.") ? 0 : 1);
  }

  /** A type argument in the class file would break this on 6.5, where there is no parameter. */
  @Test
  void reflectionCanReadTheSupertype() {
    assertThat(HoldfastLockRegistry.class.getGenericInterfaces())
        .containsExactly(RenewableLockRegistry.class);
  }
}
