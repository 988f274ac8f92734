package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A request and its copy, which the test answers in place of a server. */
class HedgingTest {
  private static final String GRANTED = ":7\r\n";
  private static final String TAKEN = "*2\r\n:5000\r\n$7\r\nsomeone\r\n";

  private ServerSocket server;
  private ConnectionPool pool;
  private Hedging hedging;
  private final AtomicReference<Thread> sender = new AtomicReference<>();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();

  private Connection first;
  private Future<Hedging.Answered> answered;
  private Socket request;
  private Socket copy;

  @BeforeEach
  void sendTwice() throws Exception {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    server.setSoTimeout((int) Await.PATIENCE.toMillis());
    pool = new ConnectionPool(new PlainConnections(server));
    hedging = new Hedging(pool, Duration.ofSeconds(3), "hedging-test");
    first = pool.getResource();
    Deadline deadline = Deadline.after(Await.PATIENCE, TimeSource.system());
    answered = thread.submit(() -> {
      sender.set(Thread.currentThread());
      return hedging.run(first, deadline, List.of(new Call(Script.CHECK, "{check}")));
    });
    request = accept();
    copy = accept();
  }

  @AfterEach
  void close() throws Exception {
    thread.shutdownNow();
    hedging.close();
    first.close();
    pool.close();
    request.close();
    copy.close();
    server.close();
  }

  /** Accepts a connection, over which a request comes. */
  private Socket accept() throws IOException {
    Socket accepted = server.accept();
    assertThat(accepted.getInputStream().read()).isEqualTo('*');
    return accepted;
  }

  private static void answer(Socket to, String reply) throws IOException {
    to.getOutputStream().write(reply.getBytes(StandardCharsets.UTF_8));
  }

  /** Answers the first, and waits until the sender has read that, and waits for the copy. */
  private void answerFirst(String reply) throws Exception {
    answer(request, reply);
    // A thread that reads from a socket is in another state.
    Await.until(
        "the sender waits for the copy",
        () -> sender.get().getState() == Thread.State.TIMED_WAITING);
  }

  private Hedging.Answered answered() throws Exception {
    return answered.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void theAnswerToTheCopyCountsWhileTheFirstIsSilent() throws Exception {
    answer(copy, GRANTED);
    assertThat(answered()).isEqualTo(new Hedging.Answered(List.of(7L), true));
    assertThat(first.isBroken()).isTrue();
  }

  @Test
  void aGrantToTheCopyIsNotOverlookedThoughTheFirstFoundTheLockTaken() throws Exception {
    answerFirst(TAKEN);
    answer(copy, GRANTED);
    assertThat(answered()).isEqualTo(new Hedging.Answered(List.of(7L), true));
  }

  @Test
  void aGrantToTheFirstCountsWhateverTheCopyFinds() throws Exception {
    answerFirst(GRANTED);
    answer(copy, TAKEN);
    assertThat(answered()).isEqualTo(new Hedging.Answered(List.of(7L), true));
  }

  @Test
  void thatTheLockIsTakenIsNotBelievedIfTheCopyGetsNoAnswer() throws Exception {
    answerFirst(TAKEN);
    copy.close();
    assertThatThrownBy(this::answered).hasCauseInstanceOf(JedisConnectionException.class);
  }
}
