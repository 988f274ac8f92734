package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.core.SpringVersion;

/** The tests run on the version of Spring that the build means. */
class SpringVersionTest {
  @Test
  void itIsTheOneThatTheBuildMeans() {
    assertThat(SpringVersion.getVersion())
        .isEqualTo(System.getProperty("spring.expected", SpringVersion.getVersion()));
  }
}
