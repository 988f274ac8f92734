package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.testsupport.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Checks that work which goes on at the shutdown keeps its locks until the client is closed. */
class ShutdownTest {
  private static final long PATIENCE_SECONDS = 40;

  @Test
  void tasksThatOutliveTheirPhaseKeepTheirLocksAndTheDataSourceIsClosedAfterTheClient()
      throws Exception {
    ConfigurableApplicationContext context = start(Workers.class, "none");
    Story story = context.getBean(Story.class);
    story.locks = context.getBean(LockClient.class);
    context.getBean(ThreadPoolTaskExecutor.class).execute(() -> story.work("task"));
    context.getBean(ThreadPoolTaskScheduler.class).execute(() -> story.work("job"));
    story.awaitBusy("task", "job");

    context.close();

    assertThat(story.lines)
        .contains("task held its lock to the end", "job held its lock to the end")
        .endsWith("the pool closes, and the client is closed");
  }

  @Test
  void aRequestThatIsBeingServedKeepsItsLock() throws Exception {
    ConfigurableApplicationContext context = start(Web.class, "servlet");
    Story story = context.getBean(Story.class);
    story.locks = context.getBean(LockClient.class);
    int port = ((WebServerApplicationContext) context).getWebServer().getPort();
    CompletableFuture<HttpResponse<String>> answer = HttpClient.newHttpClient()
        .sendAsync(
            HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/sell"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    story.awaitBusy("request");

    CompletableFuture<Void> closing = CompletableFuture.runAsync(context::close);
    story.awaitRefused(port);
    story.finish.countDown();

    assertThat(answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS).body())
        .isEqualTo("request held its lock to the end");
    closing.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertThat(story.lines).endsWith("the pool closes, and the client is closed");
  }

  private static ConfigurableApplicationContext start(Class<?> config, String web) {
    return new SpringApplicationBuilder(config)
        .properties(
            "spring.main.web-application-type=" + web,
            "server.port=0",
            "spring.lifecycle.timeout-per-shutdown-phase=" + (web.equals("none") ? "1s" : "30s"),
            "spring.flyway.enabled=false",
            "spring.liquibase.enabled=false",
            "holdfast.store=jdbc")
        .run();
  }

  /** The events so far, in their order. */
  static class Story {
    final List<String> lines = new CopyOnWriteArrayList<>();
    final CountDownLatch finish = new CountDownLatch(1);
    volatile LockClient locks;

    String work(String who) {
      String end;
      try (Lease lease = locks.get(who).tryLock().orElseThrow()) {
        lines.add(who + " is busy");
        if (!finish.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          throw new IllegalStateException("Nobody told " + who + " to finish");
        }
        end = who + (lease.isHeld() ? " held its lock to the end" : " lost its lock");
      } catch (InterruptedException e) {
        end = who + " was interrupted";
      }
      lines.add(end);
      return end;
    }

    void awaitBusy(String... who) {
      Await.until(
          "they are busy",
          () -> List.of(who).stream().allMatch(one -> lines.contains(one + " is busy")));
    }

    /** Waits until the web server takes no more requests. */
    void awaitRefused(int port) {
      Await.until("nothing listens", () -> {
        try (java.net.Socket socket = new java.net.Socket("localhost", port)) {
          return !socket.isConnected();
        } catch (java.io.IOException e) {
          return true;
        }
      });
    }

    void poolCloses() {
      try {
        locks.get("late").tryLock().ifPresent(Lease::close);
        lines.add("the pool closes, and the client is still open");
      } catch (LockClientClosedException e) {
        lines.add("the pool closes, and the client is closed");
      }
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Pool {
    @Bean
    Story story() {
      return new Story();
    }

    @Bean
    HikariDataSource pool(Story story) {
      HikariDataSource pool = new HikariDataSource() {
        @Override
        public void close() {
          story.poolCloses();
          super.close();
        }
      };
      pool.setJdbcUrl(Runners.url("shutdown"));
      return pool;
    }
  }

  /** Executors that are made before the lock client, and work until they are destroyed. */
  @Configuration(proxyBeanMethods = false)
  @Import(Pool.class)
  static class Workers {
    @Bean
    ThreadPoolTaskExecutor executor(Story story) {
      ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor() {
        @Override
        public void destroy() {
          story.finish.countDown();
          super.destroy();
        }
      };
      executor.setWaitForTasksToCompleteOnShutdown(true);
      executor.setAwaitTerminationSeconds((int) PATIENCE_SECONDS);
      return executor;
    }

    @Bean
    ThreadPoolTaskScheduler scheduler(Story story) {
      ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler() {
        @Override
        public void destroy() {
          story.finish.countDown();
          super.destroy();
        }
      };
      scheduler.setWaitForTasksToCompleteOnShutdown(true);
      scheduler.setAwaitTerminationSeconds((int) PATIENCE_SECONDS);
      return scheduler;
    }
  }

  @RestController
  @Import(Pool.class)
  static class Web {
    private final Story story;

    Web(Story story) {
      this.story = story;
    }

    @GetMapping("/sell")
    String sell() {
      return story.work("request");
    }
  }
}
