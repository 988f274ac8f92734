package io.holdfast.lock.tck.fault;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on the loopback interface that injects faults on demand. It knows nothing about the
 * protocol.
 *
 * <p>Each connection has two pipes, and each pipe has two threads: one reads data and stamps it
 * with its due time, and one writes the data that is due. One lock guards the faults and all pipes;
 * nothing blocks while it is held. Data wakes the threads of its own pipe only: a round trip costs
 * no more if there are many connections.
 */
public final class FaultProxy extends FaultLink implements Link {
  private static final int CONNECT_TIMEOUT_MILLIS = 5_000;
  private static final int CHUNK_BYTES = 16 * 1024;

  /** The most unread chunks in a pipe: a receiver that has stopped slows its sender down. */
  private static final int PIPE_CHUNKS_MAX = 64;

  private volatile InetSocketAddress server;
  private final ServerSocket listener;

  // All fields below are guarded by the lock.
  private final Set<Connection> connections = new LinkedHashSet<>();
  private final Set<Direction> lost = EnumSet.noneOf(Direction.class);
  private boolean closed;
  private int requestsToDrop;

  private FaultProxy(InetSocketAddress server) throws IOException {
    this.server = server;
    this.listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
  }

  /**
   * Opens a proxy in front of a server, on a free port.
   *
   * @throws UncheckedIOException there is no free port
   */
  public static FaultProxy open(String serverHost, int serverPort) {
    try {
      FaultProxy proxy = new FaultProxy(new InetSocketAddress(serverHost, serverPort));
      start("accept", proxy.listener.getLocalPort(), proxy::accept);
      return proxy;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the address for clients, as text. */
  public String host() {
    return listener.getInetAddress().getHostAddress();
  }

  /** Returns the port for clients. */
  public int port() {
    return listener.getLocalPort();
  }

  /** Returns the number of open connections. */
  public int connections() {
    return locked(connections::size);
  }

  /** Forwards new connections to another server; open ones are not changed. */
  public void moveTo(String serverHost, int serverPort) {
    server = new InetSocketAddress(serverHost, serverPort);
  }

  /**
   * Drops the {@code n}-th request from now, counted from 1, so that it is not carried out, and
   * resets its connection. Happens once.
   *
   * @throws IllegalArgumentException {@code n} is not positive
   */
  public void dropRequest(int n) {
    requireCounted(n);
    change(() -> requestsToDrop = n);
  }

  /**
   * Silently drops everything in this direction; everything arrives in the other. {@link #heal()}
   * resets the connections that lost something.
   */
  public void lose(Direction direction) {
    change(() -> lost.add(direction));
  }

  /**
   * Half-closes every connection that is open now: in this direction the receiver reads the end of
   * the stream, and the sender is not told; the other direction stays open. {@link #heal()} resets
   * these connections; new ones work.
   */
  public void shut(Direction direction) {
    change(() -> connections.forEach(connection -> connection.shut(direction)));
  }

  /**
   * Silently drops everything on the connections that are open now, as a firewall does that has
   * forgotten them; new ones work. {@link #heal()} resets those that lost something.
   */
  public void silence() {
    change(() -> connections.forEach(connection -> connection.silent = true));
  }

  @Override
  public void cut() {
    locked(() -> List.copyOf(connections)).forEach(Connection::reset);
  }

  @Override
  public void refuse() {
    change(() -> refusing = true);
    cut();
  }

  @Override
  public void heal() {
    List<Connection> broken = locked(() -> {
      forgetFaults();
      lost.clear();
      requestsToDrop = 0;
      wake();
      return connections.stream().filter(c -> c.lostBytes).toList();
    });
    broken.forEach(Connection::reset);
  }

  @Override
  public void close() {
    change(() -> closed = true);
    closeQuietly(listener);
    cut();
    closeResources();
  }

  @Override
  void wake() {
    connections.forEach(Connection::wake);
  }

  private void accept() {
    while (true) {
      Socket client;
      try {
        client = listener.accept();
      } catch (IOException e) {
        return; // closed
      }
      if (locked(() -> refusing || closed)) {
        reset(client);
      } else {
        start("connect", port(), () -> connect(client));
      }
    }
  }

  private void connect(Socket client) {
    Socket upstream = new Socket();
    try {
      upstream.connect(server, CONNECT_TIMEOUT_MILLIS);
      upstream.setTcpNoDelay(true);
      client.setTcpNoDelay(true);
    } catch (IOException e) {
      closeQuietly(upstream);
      reset(client);
      return;
    }
    Connection connection = new Connection(client, upstream);
    boolean admitted = locked(() -> !refusing && !closed && connections.add(connection));
    if (admitted) {
      change(() -> connectionsMade++);
      connection.start();
    } else {
      connection.reset();
    }
  }

  private static void reset(Socket socket) {
    try {
      socket.setSoLinger(true, 0); // close() sends RST
    } catch (SocketException e) {
      // It was closed already.
    }
    closeQuietly(socket);
  }

  private static void start(String what, int port, Runnable body) {
    Thread thread = new Thread(body, "fault-proxy-" + port + "-" + what);
    thread.setDaemon(true);
    thread.start();
  }

  /** A client's connection, and the proxy's connection to the server. */
  private final class Connection {
    private final Socket client;
    private final Socket upstream;
    private final List<Pipe> pipes;
    // All fields below are guarded by the lock.
    private boolean lostBytes;
    private boolean silent;
    private boolean gone;
    private boolean inRequest;
    private boolean dropsReply;
    private boolean dropsRequest;
    private final Set<Direction> shut = EnumSet.noneOf(Direction.class);
    private int pipesOpen = 2;

    Connection(Socket client, Socket upstream) {
      this.client = client;
      this.upstream = upstream;
      this.pipes = List.of(
          new Pipe(this, Direction.REQUESTS, client, upstream),
          new Pipe(this, Direction.REPLIES, upstream, client));
    }

    void start() {
      pipes.forEach(Pipe::start);
    }

    /** To be called under the lock. */
    void wake() {
      pipes.forEach(pipe -> pipe.moved.signalAll());
    }

    void reset() {
      change(() -> {
        gone = true;
        wake();
        connections.remove(this);
      });
      FaultProxy.reset(client);
      FaultProxy.reset(upstream);
    }

    /**
     * Notes, under the lock, that data arrived from that side; returns whether to throw it away.
     */
    boolean arrived(Direction direction) {
      if (blackhole || silent || lost.contains(direction) || shut.contains(direction)) {
        lostBytes = true;
        return true;
      }
      if (direction == Direction.REPLIES) {
        inRequest = false;
        return dropsReply;
      }
      if (!inRequest) {
        inRequest = true;
        requests++;
        if (repliesToDrop > 0 && --repliesToDrop == 0) {
          dropsReply = true;
        }
        if (requestsToDrop > 0 && --requestsToDrop == 0) {
          dropsRequest = true;
        }
      }
      return dropsRequest;
    }

    /** To be called under the lock. */
    void shut(Direction direction) {
      shut.add(direction);
      lostBytes = true;
    }

    /**
     * Notes, under the lock, that one pipe has delivered everything and its sender is done; returns
     * whether both pipes have ended.
     */
    boolean pipeEnded() {
      return --pipesOpen == 0;
    }
  }

  /** The data on its way from one side of a connection to the other. */
  private final class Pipe {
    @SuppressWarnings("ArrayRecordComponent") // Nobody compares them.
    private record Chunk(byte[] bytes, long arrivedNanos) {}

    private final Connection connection;
    private final Direction direction;
    private final Socket from;
    private final Socket to;

    /** Signalled when a chunk comes or goes, and when the faults change. */
    private final Condition moved = lock.newCondition();

    // Both fields below are guarded by the lock.
    private final Deque<Chunk> chunks = new ArrayDeque<>();
    private boolean ended;

    Pipe(Connection connection, Direction direction, Socket from, Socket to) {
      this.connection = connection;
      this.direction = direction;
      this.from = from;
      this.to = to;
    }

    void start() {
      FaultProxy.start("read-" + direction, port(), this::read);
      FaultProxy.start("write-" + direction, port(), this::write);
    }

    private void read() {
      byte[] buffer = new byte[CHUNK_BYTES];
      try {
        for (int n = from.getInputStream().read(buffer);
            n >= 0;
            n = from.getInputStream().read(buffer)) {
          if (!pass(new Chunk(Arrays.copyOf(buffer, n), System.nanoTime()))) {
            return;
          }
        }
      } catch (IOException e) {
        // The sender is gone. The data that it sent before is still delivered.
      }
      change(() -> ended = true);
    }

    /** Takes in a chunk that was read; returns whether to go on reading. */
    private boolean pass(Chunk chunk) {
      boolean resets;
      lock.lock();
      try {
        boolean thrownAway = connection.arrived(direction);
        if (!thrownAway) {
          while (chunks.size() >= PIPE_CHUNKS_MAX && !connection.gone) {
            moved.awaitUninterruptibly();
          }
          chunks.add(chunk);
          moved.signalAll();
        }
        resets = thrownAway && (connection.dropsReply || connection.dropsRequest);
        if (connection.gone) {
          return false;
        }
      } finally {
        lock.unlock();
      }
      if (resets) {
        connection.reset();
      }
      return !resets;
    }

    private void write() {
      try {
        for (Chunk chunk = next(); chunk != null; chunk = next()) {
          to.getOutputStream().write(chunk.bytes);
        }
        if (locked(() -> connection.gone)) {
          return;
        }
        to.shutdownOutput();
      } catch (IOException e) {
        connection.reset();
        return;
      }
      if (locked(connection::pipeEnded)) {
        connection.reset();
      }
    }

    /** Waits for the next chunk that is due; null if there are no more. */
    private @Nullable Chunk next() {
      lock.lock();
      try {
        while (true) {
          boolean isLast = ended || connection.shut.contains(direction);
          if (connection.gone || (isLast && chunks.isEmpty())) {
            return null;
          }
          Chunk first = chunks.peek();
          if (first == null || held.contains(direction)) {
            moved.awaitUninterruptibly();
            continue;
          }
          long waitNanos = first.arrivedNanos + delayNanos(direction) - System.nanoTime();
          if (waitNanos <= 0) {
            moved.signalAll(); // there is room again
            return chunks.remove();
          }
          await(waitNanos);
        }
      } finally {
        lock.unlock();
      }
    }

    @SuppressWarnings("WaitNotInLoop") // the loop is the caller's
    private void await(long nanos) {
      try {
        boolean unused = moved.await(nanos, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        throw new IllegalStateException("Nobody interrupts threads of the proxy", e);
      }
    }
  }
}
