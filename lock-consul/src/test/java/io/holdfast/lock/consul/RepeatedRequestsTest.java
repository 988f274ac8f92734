package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Requests that arrive twice or late, since a proxy, an interceptor or the network repeats them or
 * holds them back: each counts once, and not at all after it was withdrawn.
 */
class RepeatedRequestsTest {
  private static ServerContainer server;

  private final String name = "repeated-" + UUID.randomUUID();
  private final List<Request> sent = new CopyOnWriteArrayList<>();
  private OpenStore open;
  private OpenStore other;

  @BeforeAll
  static void start() {
    server = ConsulServer.shared();
  }

  @BeforeEach
  void open() throws Exception {
    open = new OpenStore(ConsulServer.address(server));
    other = new OpenStore(ConsulServer.address(server));
    // Makes the session, so that the next transaction is the acquire.
    open.store.release(open.acquire("warm-" + name), Duration.ZERO);
  }

  @AfterEach
  void close() {
    open.close();
    other.close();
  }

  private void record() {
    open.script.next(Integer.MAX_VALUE, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      return chain.proceed(chain.request());
    });
  }

  /** Sends all requests again, in reverse order, so that no acquire is followed by its end. */
  private void sendAgain() throws IOException {
    List<Request> copies = new ArrayList<>(sent);
    Collections.reverse(copies);
    for (Request request : copies) {
      try (Response response = new OkHttpClient().newCall(request).execute()) {
        assertThat(response.code()).isIn(200, 409);
      }
    }
  }

  @Test
  void whatWasSentForEarlierAttemptsDoesNothingToTheNext() throws Exception {
    record();
    open.store.release(open.acquire(name), Duration.ZERO);
    open.store.release(open.acquire(name), Duration.ZERO);
    ConsulGrant held = other.acquire(name);
    Ticket ticket = open.queue(name);
    ticket.close();
    assertThat(open.store.tryAcquire(OpenStore.claim(name))).isEmpty();
    other.store.release(held, Duration.ZERO);
    ConsulGrant next = open.acquire(name);
    sendAgain();
    assertThat(open.store.verify(next)).isPresent();
    assertThat(other.store.tryAcquire(OpenStore.claim(name))).isEmpty();
    assertThat(open.store.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  @Test
  void whatWasSentForEarlierAttemptsTakesNothingWhenTheyAreOver() throws Exception {
    record();
    open.store.release(open.acquire(name), Duration.ZERO);
    sendAgain();
    assertThat(other.store.inspect(OpenStore.key(name))).isEmpty();
    open.store.release(open.acquire(name), Duration.ZERO);
    sendAgain();
    assertThat(other.store.inspect(OpenStore.key(name))).isEmpty();
    other.store.release(other.acquire(name), Duration.ZERO);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAcquireThatArrivesAfterItWasWithdrawnTakesNothing(boolean first) throws Exception {
    if (!first) {
      open.store.release(open.acquire(name), Duration.ZERO);
    }
    open.script.next(2, Script.TRANSACTION, chain -> {
      sent.add(chain.request());
      throw new IOException("Held back");
    });
    Claim claim = OpenStore.claim(name);
    assertThatExceptionOfType(StoreException.class).isThrownBy(() -> open.store.tryAcquire(claim));
    open.store.withdraw(claim);
    sendAgain();
    assertThat(other.store.inspect(OpenStore.key(name))).isEmpty();
    other.store.release(other.acquire(name), Duration.ZERO);
    // The client itself goes on, too.
    open.store.release(open.acquire(name), Duration.ZERO);
  }
}
