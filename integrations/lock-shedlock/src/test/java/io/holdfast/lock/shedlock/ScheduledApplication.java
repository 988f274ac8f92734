package io.holdfast.lock.shedlock;

import io.holdfast.lock.LockClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Semaphore;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * An application in a JVM of its own, with a task that wants to run each second. It prints when its
 * task has got the lock, by the store's clock, and that the lock was taken. The task goes on until
 * a line is read; without input, the JVM ends.
 */
final class ScheduledApplication {
  static final String AT_MOST = "PT30S";
  static final String AT_LEAST = "PT3S";
  static final String TASK = "report";
  static final String TAKEN = "taken";
  static final String RUNS = "runs since ";

  private ScheduledApplication() {}

  /** Arguments: the URL of a PostgreSQL database. */
  public static void main(String[] arguments) throws Exception {
    Semaphore ends = new Semaphore(0);
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    context.registerBean(DataSource.class, () -> TestStore.pool(arguments[0], arguments[1]));
    context
        .getBeanFactory()
        .addBeanPostProcessor(new ScheduledApplicationsTest.Hearing(ScheduledApplication::hear));
    context.registerBean(Semaphore.class, () -> ends);
    context.register(ScheduledApplicationsTest.Scheduling.class, Reports.class);
    context.refresh();
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        ends.release();
      }
    }
    Runtime.getRuntime().halt(0); // The test has ended.
  }

  private static void hear(boolean got) {
    if (!got) {
      say(TAKEN);
    }
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static class Reports {
    private final LockClient locks;
    private final Semaphore ends;

    Reports(LockClient locks, Semaphore ends) {
      this.locks = locks;
      this.ends = ends;
    }

    @Scheduled(cron = "* * * * * *")
    @SchedulerLock(name = TASK, lockAtMostFor = AT_MOST, lockAtLeastFor = AT_LEAST)
    public void send() throws InterruptedException {
      say(RUNS + locks.get(TASK).inspect().orElseThrow().since());
      ends.acquire();
    }
  }
}
