package io.holdfast.lock.spring;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.InMemoryServer;
import io.holdfast.lock.LockClient;
import java.time.Duration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;

/** An application with locks in memory, and another client of the same store beside it. */
final class App implements AutoCloseable {
  private final InMemoryServer server = new InMemoryServer();
  final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
  final LockClient others = client("others");

  private App(Class<?>... beans) {
    context.registerBean("locks", LockClient.class, () -> client("app"));
    context.register(Locks.class);
    for (Class<?> bean : beans) {
      context.registerBean(bean, definition -> definition.setDestroyMethodName("(inferred)"));
    }
  }

  static App start(Class<?>... beans) {
    App app = new App(beans);
    try {
      app.context.refresh();
    } catch (Throwable e) {
      app.others.close();
      throw e;
    }
    return app;
  }

  private LockClient client(String name) {
    return InMemoryLocks.builder(server)
        .clientName(name)
        .storeTimeout(Duration.ofMillis(500))
        .build();
  }

  <T> T get(Class<T> type) {
    return context.getBean(type);
  }

  boolean isFree(String name) {
    return others.get(name).inspect().isEmpty();
  }

  @Override
  public void close() {
    context.close();
    others.close();
  }

  @Configuration(proxyBeanMethods = false)
  @EnableHoldfastLocks
  static class Locks {}
}
