package io.holdfast.lock.redis.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.redis.server.Daemons;
import io.holdfast.lock.redis.server.PlainConnections;
import io.holdfast.lock.redis.server.Primaries;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.Rule;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.MovableTime;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.RedisClient;

/** The connection on which waiters hear, to a server that the test plays. */
class InboxTest {
  private static final String SUBSCRIBED = "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n";

  @Test
  void whoCanNotHearForWantOfAThreadIsToldSoAndTheNextStartsOne() throws Exception {
    AtomicBoolean noMoreThreads = new AtomicBoolean(true);
    CountDownLatch started = new CountDownLatch(1);
    ThreadFactory threads = task -> {
      if (noMoreThreads.get()) {
        throw new OutOfMemoryError("unable to create native thread");
      }
      return Daemons.thread("inbox-without-waiters", () -> {
        started.countDown();
        task.run();
      });
    };
    Primaries none = key -> {
      throw new AssertionError("Without waiters there is nothing to subscribe to");
    };
    try (Inbox inbox =
        new Inbox(none, TimeSource.system(), Stores.STORE_TIMEOUT, "holdfast", threads)) {
      // It has a place in line, so the engine must withdraw it.
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(inbox::listen)
          .withMessageContaining("no thread")
          .satisfies(e -> assertThat(e.mayHaveHappened()).isTrue());
      noMoreThreads.set(false);
      inbox.listen();
      assertThat(started.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }
  }

  @Rule("L-10.12")
  @Test
  void withoutMessagesWaitersPollMoreOftenAndStillNoMoreThanTwoHundredTimesASecondInAll()
      throws Exception {
    Primaries none = key -> {
      throw new AssertionError("Nobody listens");
    };
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis);
        Inbox inbox =
            new Inbox(none, TimeSource.system(), Stores.STORE_TIMEOUT, "holdfast", Thread::new)) {
      for (int waiters = 1; waiters <= 1_000; waiters++) {
        Claim claim = Claims.claim(Claims.freshKey());
        inbox.expect(claim.ownerId(), new QueueTicket((RedisStore) store, claim, () -> {}));
        assertThat(inbox.recheckAfter())
            .isEqualTo(waiters <= 300 ? Inbox.RECHECK_AFTER_MIN : Duration.ofMillis(5L * waiters));
      }
    }
  }

  @Test
  void aSubscriptionIsKeptAsLongAsTheServerAnswers() throws Exception {
    MovableTime time = new MovableTime();
    Semaphore heard = new Semaphore(0);
    try (RedisClient redis = Stores.client();
        LockStore store = Stores.open(redis);
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        ConnectionPool pool = new ConnectionPool(new PlainConnections(server));
        Inbox inbox = new Inbox(
            key -> pool,
            time,
            Stores.STORE_TIMEOUT,
            "holdfast",
            task -> Daemons.thread("inbox-of-a-server-that-goes-silent", task))) {
      server.setSoTimeout((int) Await.PATIENCE.toMillis());
      inbox.expect(
          "owner",
          new QueueTicket((RedisStore) store, Claims.claim(Claims.freshKey()), heard::release));
      inbox.listen();
      try (Socket silent = server.accept()) {
        awaitAndSkip(silent, inbox, "SUBSCRIBE");
        time.pass(Stores.STORE_TIMEOUT.plusSeconds(1));
        inbox.listen();
      }
      try (Socket answering = server.accept()) {
        awaitAndSkip(answering, inbox, "SUBSCRIBE");
        answer(answering, SUBSCRIBED);
        // Once since the first connection ended, and once since the second hears.
        assertThat(heard.tryAcquire(2, Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
            .isTrue();
        for (int i = 0; i < 3; i++) {
          time.pass(Duration.ofSeconds(4));
          awaitAndSkip(answering, inbox, "SUBSCRIBE");
          answer(answering, SUBSCRIBED);
        }
        time.pass(Duration.ofSeconds(4));
        awaitAndSkip(answering, inbox, "SUBSCRIBE");
        assertThat(heard.availablePermits())
            .as("polls for a server that is well")
            .isZero();
        time.pass(Stores.STORE_TIMEOUT.plusSeconds(1));
        inbox.listen();
        server.accept().close();
      }
      inbox.forget("owner");
    }
  }

  /** Polls like a waiter until a request has come, and takes it in. */
  private static void awaitAndSkip(Socket from, Inbox inbox, String request) throws Exception {
    Await.until(request, () -> {
      inbox.listen();
      return from.getInputStream().available() > 0;
    });
    byte[] bytes = from.getInputStream().readNBytes(from.getInputStream().available());
    assertThat(new String(bytes, StandardCharsets.UTF_8)).contains(request);
  }

  private static void answer(Socket to, String reply) throws IOException {
    to.getOutputStream().write(reply.getBytes(StandardCharsets.UTF_8));
  }
}
