package io.holdfast.lock.tck.rules;

import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.Requires;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestInstances;
import org.opentest4j.TestAbortedException;

/**
 * Runs each test on a thread of its own, with a deadline after which all threads are dumped and the
 * test fails. Skips tests that the fixture can't support.
 */
public final class RuleRunner implements InvocationInterceptor {
  private static final Duration DEADLINE = Duration.ofMinutes(2);

  /** Called by JUnit. */
  RuleRunner() {}

  @Override
  public void interceptTestMethod(
      Invocation<Void> invocation,
      ReflectiveInvocationContext<Method> invocationContext,
      ExtensionContext context)
      throws Throwable {
    Method method = invocationContext.getExecutable();
    TestInstances instances = context.getRequiredTestInstances();
    RuleTest test = (RuleTest) instances.getInnermostInstance();
    test.use(instances.findInstance(LockConformance.class).orElseThrow().fixture());
    try {
      skipWithout(test.fixture(), method);
    } catch (TestAbortedException e) {
      invocation.skip();
      throw e;
    }
    run(method, () -> withCleanUp(test, invocation::proceed));
  }

  private static void skipWithout(Fixture fixture, Method method) {
    Requires requires = method.getAnnotation(Requires.class);
    if (requires != null) {
      for (Capability capability : requires.value()) {
        Assumptions.assumeTrue(
            fixture.capabilities().contains(capability), () -> fixture.whyNot(capability));
      }
    }
  }

  private static void run(Method method, Body body) throws Throwable {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    Thread thread = new Thread(
        () -> {
          try {
            body.run();
          } catch (Throwable e) {
            failure.set(e);
          }
        },
        "tck-" + method.getName());
    thread.setDaemon(true);
    thread.start();
    thread.join(DEADLINE.toMillis());
    if (thread.isAlive()) {
      String where = dump();
      thread.interrupt();
      throw new AssertionError("Not done within " + DEADLINE + "; all threads:\n" + where);
    }
    Throwable failed = failure.get();
    if (failed != null) {
      throw failed;
    }
  }

  private interface Body {
    void run() throws Throwable;
  }

  /**
   * Runs a test and its clean-up, which may have to start a killed server again. Both failures are
   * reported, the test's own first.
   */
  private static void withCleanUp(RuleTest test, Body body) throws Throwable {
    try {
      body.run();
    } catch (Throwable failure) {
      try {
        test.closeEverything();
      } catch (Throwable another) {
        failure.addSuppressed(another);
      }
      throw failure;
    }
    test.closeEverything();
  }

  private static String dump() {
    StringBuilder text = new StringBuilder();
    for (ThreadInfo info : ManagementFactory.getThreadMXBean().dumpAllThreads(true, true)) {
      text.append('"').append(info.getThreadName()).append("\" ").append(info.getThreadState());
      LockInfo blocker = info.getLockInfo();
      if (blocker != null) {
        text.append(" on ").append(blocker);
      }
      text.append('\n');
      for (StackTraceElement element : info.getStackTrace()) {
        text.append("    at ").append(element).append('\n');
      }
    }
    return text.toString();
  }
}
