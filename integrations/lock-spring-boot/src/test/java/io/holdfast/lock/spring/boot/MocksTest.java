package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.holdfast.lock.LockClient;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.context.TestPropertySource;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.context.bean.override.mockito.MockitoSpyBean;

/** Tests of applications that put mocks in place of beans. */
class MocksTest {

  @Test
  void aServiceWithLockedMethodsMayBeAMock() throws Exception {
    MockedService test = new MockedService();
    prepare(test);
    when(test.orders.isLockedWhileShipping("42")).thenReturn(true);
    assertThat(test.orders.isLockedWhileShipping("42")).isTrue();
    assertThat(test.orders.isLockedWhileShipping("43")).isFalse();
  }

  @Test
  void aServiceWithLockedMethodsMayBeASpyAndIsLocked() throws Exception {
    SpiedService test = new SpiedService();
    prepare(test);
    assertThat(test.orders.isLockedWhileShipping("42")).isTrue();
    verify(test.orders).isLockedWhileShipping("42");
  }

  @Test
  void aMockOfTheClientIsRefusedWithWhatToUseInstead() {
    assertThatThrownBy(() -> prepare(new MockedClient()))
        .rootCause()
        .hasMessageContaining("'lockClient' gives no locks, as a mock does")
        .hasMessageContaining("holdfast.store=memory");
  }

  private static void prepare(Object test) throws Exception {
    new TestContextManager(test.getClass()).prepareTestInstance(test);
  }

  @ContextConfiguration(classes = App.class)
  @TestPropertySource(properties = "holdfast.store=memory")
  static class MockedService {
    @MockitoBean
    LockedTest.Orders orders;
  }

  @ContextConfiguration(classes = App.class)
  @TestPropertySource(properties = "holdfast.store=memory")
  static class SpiedService {
    @MockitoSpyBean
    LockedTest.Orders orders;
  }

  @ContextConfiguration(classes = App.class)
  static class MockedClient {
    @MockitoBean
    LockClient locks;

    @Autowired
    LockedTest.Orders orders;
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    LockAutoConfiguration.class,
    LockedAutoConfiguration.class,
    AopAutoConfiguration.class
  })
  @Import(LockedTest.Orders.class)
  static class App {}
}
