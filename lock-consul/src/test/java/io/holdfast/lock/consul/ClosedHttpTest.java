package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A closed HTTP client, at an address where nobody answers. */
class ClosedHttpTest {
  private static final int ACCEPT_MILLIS_MAX = 5_000;

  private ServerSocket server;
  private ConsulHttp http;

  @BeforeEach
  void open() throws Exception {
    server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    server.setSoTimeout(ACCEPT_MILLIS_MAX);
    HttpUrl url = HttpUrl.get("http://127.0.0.1:" + server.getLocalPort());
    http = new ConsulHttp(
        new ConsulHttp.Settings(new OkHttpClient(), url, null, ConsulException::new),
        new StoreSettings(
            "closed", Duration.ofSeconds(20), TimeSource.system(), PlainStore.UNHEARD));
  }

  @AfterEach
  void close() throws Exception {
    http.close();
    server.close();
  }

  private Entry read() throws StoreException {
    return http.readKey("key", http.deadline());
  }

  private void assertThatNothingIsSent() throws Exception {
    server.setSoTimeout(300);
    assertThatThrownBy(server::accept).isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void aCallThatTheCloseCancelsIsNotSentAgain() throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<Entry> call = thread.submit(() -> read());
      try (Socket way = server.accept()) {
        int unused = way.getInputStream().read();
        http.close();
        assertThatThrownBy(() -> call.get(10, TimeUnit.SECONDS))
            .hasCauseInstanceOf(StoreException.class)
            .hasMessageContaining("The client was closed");
        assertThatNothingIsSent();
      }
    } finally {
      thread.shutdownNow();
    }
  }

  @Test
  void aCallAfterTheCloseIsNotSent() throws Exception {
    http.close();
    assertThatThrownBy(this::read)
        .isInstanceOfSatisfying(
            StoreException.class,
            e -> assertThat(e.mayHaveHappened()).isFalse())
        .hasMessage("The client was closed");
    assertThatNothingIsSent();
  }

  @Test
  void aLongPollAfterTheCloseIsNotSent() throws Exception {
    http.close();
    assertThatThrownBy(() -> http.listen(http.longPoll("key", 1, Duration.ofSeconds(1))))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("The client was closed");
    assertThatNothingIsSent();
  }
}
