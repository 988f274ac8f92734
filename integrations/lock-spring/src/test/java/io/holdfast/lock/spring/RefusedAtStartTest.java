package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockTimeoutException;
import io.holdfast.lock.testsupport.Logged;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import reactor.core.publisher.Mono;

/** Checks that a mistake in a locked method ends the start with a sentence that says what to do. */
class RefusedAtStartTest {
  static Stream<Arguments> mistakes() {
    return Stream.of(
        mistake(NoName.class, "attribute name", "there is no name"),
        mistake(NotATemplate.class, "attribute name", "is not a template"),
        mistake(PlainText.class, "attribute name", "write #{#id}"),
        mistake(Braces.class, "attribute name", "'{id}' is plain text", "write #{#id}"),
        mistake(Format.class, "attribute name", "'%s' is plain text", "#{#"),
        mistake(UnknownParameter.class, "attribute name", "refers to #di", "take one of #id"),
        mistake(UnknownPosition.class, "attribute name", "refers to #p1"),
        mistake(TooLong.class, "attribute name", "200"),
        mistake(UnknownPlaceholder.class, "attribute name", "set the property"),
        mistake(
            DollarForHash.class, "attribute name", "set the property", "#{#parameter} if you mean"),
        mistake(NoUnit.class, "attribute waitFor", "'10' has no unit", "10s"),
        mistake(NoDuration.class, "attribute minHold", "'soon' is not a duration"),
        mistake(Negative.class, "attribute waitFor", "negative"),
        mistake(ShortTtl.class, "attribute ttl", "PT1S", "take a TTL of at least"),
        mistake(MaxOfFixed.class, "attribute maxHold", "fixed"),
        mistake(LongMinHold.class, "attribute minHold", "TTL"),
        mistake(NoSuchClient.class, "attribute client", "no bean 'nobody'"),
        mistake(SkippedPrimitive.class, "attribute whenBusy", "SKIP has no int", "Optional"),
        mistake(SkippedString.class, "attribute whenBusy", "SKIP has no String"),
        mistake(NoHandler.class, "attribute busyHandler", "no single bean of type"),
        mistake(TwoBusyOutcomes.class, "attribute busyHandler", "leave one of the two out"),
        mistake(InterruptedStage.class, "attribute whenLost", "INTERRUPT is for the thread"),
        mistake(Reactive.class, "returns Mono", "CompletionStage"),
        mistake(PlainFuture.class, "returns Future", "CompletionStage"),
        mistake(LazyStream.class, "returns Stream", "CompletionStage"),
        mistake(FinalMethod.class, "final method", "make it non-final"),
        mistake(PrivateMethod.class, "private method", "not private"),
        mistake(StaticMethod.class, "static method", "instance method"),
        mistake(NotInTheInterface.class, "none of them has the method", "proxyTargetClass"),
        mistake(OverloadOfTheInterface.class, "none of them has the method", "proxyTargetClass"),
        mistake(GuardWithoutDatabase.class, "attribute guard", "has no guard"),
        mistake(GuardedRead.class, "attribute guard", "leave out read"),
        mistake(GuardedPermit.class, "attribute guard", "leave out permits"),
        mistake(ReadOfASemaphore.class, "attribute permits", "read is set"),
        mistake(TooManyPermits.class, "attribute permits", "1001"),
        mistake(MinHoldOfARead.class, "attribute minHold", "a read has none"),
        mistake(EarlyBean.class, "made before locks were switched on", "lazily"),
        mistake(Constructed.class, "on the bean itself", "ApplicationRunner"),
        mistake(Destroyed.class, "on the bean itself", "ApplicationRunner"),
        mistake(Injected.class, "on the bean itself", "ApplicationRunner"),
        mistake(TakesAResource.class, "on the bean itself", "ApplicationRunner"),
        mistake(TakesAValue.class, "on the bean itself", "ApplicationRunner"),
        mistake(InjectedByAnotherName.class, "on the bean itself", "ApplicationRunner"),
        mistake(KnowsItsFactory.class, "on the bean itself", "ApplicationRunner"),
        mistake(KnowsItsFactoryToo.class, "on the bean itself", "ApplicationRunner"),
        mistake(Initialized.class, "on the bean itself", "ApplicationRunner"),
        mistake(Disposed.class, "on the bean itself", "ApplicationRunner"),
        mistake(Closed.class, "on the bean itself", "give it another name"),
        mistake(ShutDown.class, "on the bean itself", "give it another name"),
        mistake(LazyMistake.class, "attribute name", "there is no name"));
  }

  private static Arguments mistake(Class<?> bean, String... said) {
    return Arguments.of(bean, said);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("mistakes")
  void aMistakeEndsTheStart(Class<?> bean, String... said) {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> App.start(bean).close())
        .satisfies(e -> {
          assertThat(e.getMessage()).contains(said).contains("Bean '", bean.getSimpleName() + ".");
          assertThat(e.getMessage()).isEqualTo(e.problem() + ": " + e.remedy());
        });
  }

  @ParameterizedTest
  @ValueSource(classes = {NoReaders.class, NoSemaphores.class})
  void whatTheClientsStoreDoesNotHaveEndsTheStart(Class<?> bean) {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> App.start(PlainClient.class, bean).close())
        .withMessageContaining("the client's store has no ")
        .withMessageContaining("take another store");
  }

  @Test
  void aBeanThatAPostProcessorNeedsIsLocked() {
    try (App app = App.start(NeedsEarly.class, NeededEarly.class);
        Lease taken = app.others.get("early").tryLock().orElseThrow()) {
      NeededEarly bean = app.get(NeededEarly.class);
      assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(bean::run);
      assertThat(taken.isHeld()).isTrue();
    }
  }

  @Test
  void aLockedMethodMayBeBehindTwoProxiesOfItsInterface() {
    try (App app = App.start(AnotherProxy.class, BehindTwo.class);
        Lease taken = app.others.get("two").tryLock().orElseThrow()) {
      Narrow bean = app.get(Narrow.class);
      assertThat(AopUtils.isJdkDynamicProxy(bean)).isTrue();
      assertThat(AopUtils.isJdkDynamicProxy(AopProxyUtils.getSingletonTarget(bean)))
          .isTrue();
      assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(bean::offered);
      assertThat(taken.isHeld()).isTrue();
    }
  }

  @Test
  void aFinalMethodBehindTwoProxiesEndsTheStartIfTheLocksProxyIsOfItsClass() {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() ->
            App.start(AnotherProxy.class, ByClass.class, FinalBehindTwo.class).close())
        .withMessageContaining("final method");
  }

  @Test
  void aContextWithoutAClientEndsTheStart() {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(App.Locks.class, Fine.class);
      assertThatExceptionOfType(InvalidLockedMethodException.class)
          .isThrownBy(context::refresh)
          .withMessageContaining("there is no LockClient bean");
    }
  }

  @Test
  void theInitMethodOfADefinitionEndsTheStart() {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> App.start(Definition.class).close())
        .withMessageContaining("on the bean itself");
  }

  @Test
  void theMethodThatSetsAPropertyOfADefinitionEndsTheStart() {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(App.Locks.class);
      context.registerBean(LockClient.class, () -> InMemoryLocks.builder().build());
      context.registerBean(HasALimit.class, bean -> bean.getPropertyValues().add("limit", 5));
      assertThatExceptionOfType(InvalidLockedMethodException.class)
          .isThrownBy(context::refresh)
          .withMessageContaining("on the bean itself");
    }
  }

  @Test
  void aMethodThatSetsWhatNoDefinitionNamesIsNotRefused() {
    App.start(HasALimit.class).close();
  }

  @Test
  void anotherMethodOfAnInterfaceThatExtendsSuchIsNotRefused() {
    App.start(OrdersWithALifecycle.class, MarkedAsAware.class).close();
  }

  @Test
  void whereTheAnnotationIsOnTheClassThatIsAWarning() throws Exception {
    assertThat(Logged.during(() -> App.start(LockedAsAWhole.class).close()))
        .contains("LockedAsAWhole.fill(): @Locked of its class is not for this method", "WARN")
        .doesNotContain("LockedAsAWhole.run()");
  }

  @Test
  void theCloseMethodOfAResourceEndsTheStart() {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(App.Locks.class, Resource.class);
      context.registerBean(LockClient.class, () -> InMemoryLocks.builder().build());
      assertThatExceptionOfType(InvalidLockedMethodException.class)
          .isThrownBy(context::refresh)
          .withMessageContaining("on the bean itself");
    }
  }

  @Test
  void aMethodThatSpringDoesNotInferIsNotRefused() {
    App.start(NotInferred.class).close();
  }

  @Test
  void whatIsRightIsNotRefused() {
    App.start(LockedAsAWhole.class, Fine.class, FineOnAnother.class, FineGeneric.class)
        .close();
  }

  @Test
  void aParameterWithoutANameIsNamedByItsPosition() throws Exception {
    // Object.equals has no names of parameters, as a class compiled without -parameters.
    Place place = new Place("x", Object.class.getMethod("equals", Object.class), Object.class);
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> LockName.parse(place, "orders/#{#id}"))
        .withMessageContaining("-parameters")
        .withMessageContaining("#p0");
    assertThat(LockName.parse(place, "orders/#{#p0}").isConstant()).isFalse();
  }

  static class NoName {
    @Locked
    void run() {}
  }

  @Lazy
  static class LazyMistake {
    @Locked
    void run() {}
  }

  static class NotATemplate {
    @Locked("orders/#{#id")
    void run(long id) {}
  }

  static class PlainText {
    @Locked("orders/#id")
    void run(long id) {}
  }

  static class Braces {
    @Locked("orders/{id}")
    void run(long id) {}
  }

  static class Format {
    @Locked("orders/%s")
    void run(long id) {}
  }

  static class UnknownParameter {
    @Locked("orders/#{#di}")
    void run(long id) {}
  }

  static class UnknownPosition {
    @Locked("orders/#{#p1}")
    void run(long id) {}
  }

  static class TooLong {
    @Locked("0123456789012345678901234567890123456789012345678901234567890123456789"
        + "0123456789012345678901234567890123456789012345678901234567890123456789"
        + "0123456789012345678901234567890123456789012345678901234567890123456789")
    void run() {}
  }

  static class UnknownPlaceholder {
    @Locked("orders/${no.such.property}")
    void run() {}
  }

  static class DollarForHash {
    @Locked("orders/${orderId}")
    void run(long orderId) {}
  }

  static class NoUnit {
    @Locked(name = "a", waitFor = "10")
    void run() {}
  }

  static class NoDuration {
    @Locked(name = "a", minHold = "soon")
    void run() {}
  }

  static class Negative {
    @Locked(name = "a", waitFor = "-1s")
    void run() {}
  }

  static class ShortTtl {
    @Locked(name = "a", ttl = "${ttl:1s}")
    void run() {}
  }

  static class MaxOfFixed {
    @Locked(name = "a", mode = LeaseMode.FIXED, maxHold = "1m")
    void run() {}
  }

  static class LongMinHold {
    @Locked(name = "a", mode = LeaseMode.FIXED, ttl = "5s", minHold = "6s")
    void run() {}
  }

  static class NoSuchClient {
    @Locked(name = "a", client = "nobody")
    void run() {}
  }

  static class SkippedPrimitive {
    @Locked(name = "a", whenBusy = WhenBusy.SKIP)
    int run() {
      return 1;
    }
  }

  static class SkippedString {
    @Locked(name = "a", whenBusy = WhenBusy.SKIP)
    String run() {
      return "";
    }
  }

  interface Absent extends BusyHandler {}

  static class NoHandler {
    @Locked(name = "a", busyHandler = Absent.class)
    void run() {}
  }

  static class TwoBusyOutcomes {
    @Locked(name = "a", busyHandler = Absent.class, whenBusy = WhenBusy.SKIP)
    void run() {}
  }

  static class InterruptedStage {
    @Locked(name = "a", whenLost = WhenLost.INTERRUPT)
    CompletableFuture<String> run() {
      return new CompletableFuture<>();
    }
  }

  static class Reactive {
    @Locked("a")
    Mono<String> run() {
      return Mono.empty();
    }
  }

  static class PlainFuture {
    @Locked("a")
    Future<String> run() {
      return new CompletableFuture<>();
    }
  }

  static class LazyStream {
    @Locked("a")
    Stream<String> run() {
      return Stream.of();
    }
  }

  static class FinalMethod {
    @Locked("a")
    final void run() {}
  }

  static class PrivateMethod {
    void open() {
      run();
    }

    @Locked("a")
    private void run() {}
  }

  static class StaticMethod {
    @Locked("a")
    static void run() {}
  }

  interface Narrow {
    void offered();
  }

  static class NotInTheInterface implements Narrow {
    @Override
    public void offered() {}

    @Locked("a")
    public void hidden() {}
  }

  static class BehindTwo implements Narrow {
    @Override
    @Locked("two")
    public void offered() {}
  }

  static class FinalBehindTwo implements Narrow {
    @Override
    @Locked("two")
    public final void offered() {}
  }

  /** Makes such beans get proxies of their class. */
  static class ByClass implements BeanFactoryPostProcessor {
    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
      for (String name : factory.getBeanNamesForType(FinalBehindTwo.class, false, false)) {
        factory
            .getBeanDefinition(name)
            .setAttribute(AutoProxyUtils.PRESERVE_TARGET_CLASS_ATTRIBUTE, true);
      }
    }
  }

  /** Puts one more proxy before that of the locks, as another framework may. */
  static class AnotherProxy implements BeanPostProcessor {
    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      return bean instanceof Narrow ? new ProxyFactory(bean).getProxy() : bean;
    }
  }

  static class GuardedRead {
    @Locked(name = "a", read = true, guard = true)
    void run() {}
  }

  static class GuardedPermit {
    @Locked(name = "a", permits = 2, guard = true)
    void run() {}
  }

  static class ReadOfASemaphore {
    @Locked(name = "a", read = true, permits = 2)
    void run() {}
  }

  static class TooManyPermits {
    @Locked(name = "a", permits = 1001)
    void run() {}
  }

  static class MinHoldOfARead {
    @Locked(name = "a", read = true, minHold = "1s")
    void run() {}
  }

  static class NoReaders {
    @Locked(name = "a", client = PlainClient.NAME, read = true)
    void run() {}
  }

  static class NoSemaphores {
    @Locked(name = "a", client = PlainClient.NAME, permits = 2)
    void run() {}
  }

  /** The client of a store that has locks only. */
  static class PlainClient implements FactoryBean<LockClient>, AutoCloseable {
    static final String NAME = "refusedAtStartTest.PlainClient";

    private final LockClient locks = InMemoryLocks.builder().build();

    @Override
    public LockClient getObject() {
      return (LockClient) Proxy.newProxyInstance(
          LockClient.class.getClassLoader(),
          new Class<?>[] {LockClient.class},
          (proxy, method, arguments) -> method.invoke(locks, arguments));
    }

    @Override
    public Class<?> getObjectType() {
      return LockClient.class;
    }

    @Override
    public void close() {
      locks.close();
    }
  }

  static class GuardWithoutDatabase {
    @Locked(name = "a", guard = true)
    void run() {}
  }

  /** A bean that is made before the creator of proxies, as all beans of its kind. */
  static class EarlyBean implements BeanPostProcessor, org.springframework.core.PriorityOrdered {
    @Locked("a")
    public void run() {}

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }
  }

  static class NeedsEarly implements BeanPostProcessor {
    NeedsEarly(NeededEarly needed) {}
  }

  static class NeededEarly {
    @Locked("early")
    public void run() {}
  }

  static class Constructed {
    @PostConstruct
    @Locked("a")
    void fill() {}
  }

  static class Destroyed {
    @PreDestroy
    @Locked("a")
    void empty() {}
  }

  static class Injected {
    @Autowired
    @Locked("a")
    void take(LockClient locks) {}
  }

  static class TakesAResource {
    @jakarta.annotation.Resource
    @Locked("a")
    void setLocks(LockClient locks) {}
  }

  static class TakesAValue {
    @Value("5")
    @Locked("a")
    void limit(int limit) {}
  }

  @Autowired
  @Retention(RetentionPolicy.RUNTIME)
  @interface Inject {}

  static class InjectedByAnotherName {
    @Inject
    @Locked("a")
    void take(LockClient locks) {}
  }

  static class KnowsItsFactory implements BeanFactoryAware {
    @Override
    @Locked("a")
    public void setBeanFactory(BeanFactory factory) {}
  }

  interface Orders extends BeanFactoryAware, DisposableBean {
    void order();
  }

  static class OrdersWithALifecycle implements Orders {
    @Override
    @Locked("a")
    public void order() {}

    @Override
    public void setBeanFactory(BeanFactory factory) {}

    @Override
    public void destroy() {}
  }

  /** Has none of the interfaces by which Spring calls it. */
  static class MarkedAsAware implements Aware {
    @Locked("b")
    public void run() {}
  }

  /** Knows its factory by an interface of its own. */
  static class KnowsItsFactoryToo extends OrdersWithALifecycle {
    @Override
    @Locked("a")
    public void setBeanFactory(BeanFactory factory) {}
  }

  static class HasALimit {
    @Locked("a")
    public void setLimit(int limit) {}
  }

  static class Initialized implements InitializingBean {
    @Override
    @Locked("a")
    public void afterPropertiesSet() {}
  }

  static class Disposed implements DisposableBean {
    @Override
    @Locked("a")
    public void destroy() {}
  }

  static class Closed {
    @Locked("a")
    public void close() {}
  }

  static class ShutDown {
    @Locked("a")
    public void shutdown() {}
  }

  /** Each with a method that looks like one that Spring infers, and is none. */
  @Configuration(proxyBeanMethods = false)
  static class NotInferred {
    @Bean
    ClosedAndShutDown other() {
      return new ClosedAndShutDown();
    }

    @Bean
    ClosedWithAnArgument argument() {
      return new ClosedWithAnArgument();
    }

    @Bean
    ClosedByAnotherMethod interfaces() {
      return new ClosedByAnotherMethod();
    }

    @Bean(destroyMethod = "")
    Closed none() {
      return new Closed();
    }

    @Bean
    @Scope("prototype")
    Closed prototype() {
      return new Closed();
    }

    @Bean
    Factory ofAFactory() {
      return new Factory();
    }
  }

  /** Is destroyed by Spring; what it makes is not. */
  static class Factory implements FactoryBean<Closed> {
    @Override
    public Closed getObject() {
      return new Closed();
    }

    @Override
    public Class<?> getObjectType() {
      return Closed.class;
    }
  }

  static class ClosedAndShutDown {
    public void close() {}

    @Locked("a")
    public void shutdown() {}
  }

  static class ClosedWithAnArgument {
    @Locked("a")
    public void close(boolean now) {}
  }

  static class ClosedByAnotherMethod implements DisposableBean {
    @Override
    public void destroy() {}

    @Locked("a")
    public void close() {}
  }

  static class Resource implements AutoCloseable {
    @Override
    @Locked("a")
    public void close() {}
  }

  static class OfADefinition {
    @Locked("a")
    public void begin() {}
  }

  @Configuration(proxyBeanMethods = false)
  static class Definition {
    @Bean(initMethod = "begin")
    OfADefinition ofADefinition() {
      return new OfADefinition();
    }
  }

  /** As a whole, with a method that the container calls. */
  @Locked("whole")
  static class LockedAsAWhole {
    @PostConstruct
    public void fill() {}

    public void run() {}
  }

  static class Fine {
    @Locked("a/#{#id}")
    void run(long id) {}
  }

  static class FineOnAnother {
    private final Fine fine;

    FineOnAnother(Fine fine) {
      this.fine = fine;
    }

    @Locked("b")
    public void run(long id) {
      fine.run(id);
    }
  }

  interface Handler<T> {
    void handle(T what);
  }

  static class OverloadOfTheInterface implements Handler<String> {
    @Override
    public void handle(String what) {}

    @Locked("numbers")
    public void handle(Integer what) {}
  }

  /** The compiler adds a method that takes any object, and calls this one. */
  static class FineGeneric implements Handler<String> {
    @Override
    @Locked("orders/#{#what}")
    public void handle(String what) {}
  }
}
