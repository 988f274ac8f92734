package io.holdfast.lock.tck.remote;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentLinkedDeque;

/** A client of a {@link RemoteServer}: a few connections, and waiting by asking again. */
final class RemoteStore implements LockStore {
  private static final Duration ASK_AGAIN = Duration.ofMillis(10);

  private final int port;
  private final int timeoutMillis;
  private final ConcurrentLinkedDeque<Socket> idle = new ConcurrentLinkedDeque<>();

  RemoteStore(int port, Duration timeout) {
    this.port = port;
    this.timeoutMillis = (int) timeout.toMillis();
  }

  private record RemoteGrant(Claim claim, long number) implements Grant {
    @Override
    public Duration validFor() {
      return claim.ttl();
    }

    @Override
    public Duration crashBound() {
      return claim.ttl();
    }
  }

  /** Sends a request and returns the fields of the answer. */
  DataInputStream call(Wire.Body request) throws StoreException {
    long startNanos = System.nanoTime();
    Socket socket = idle.poll();
    if (socket == null) {
      socket = connect();
    }
    try {
      long leftMillis = timeoutMillis - (System.nanoTime() - startNanos) / 1_000_000;
      socket.setSoTimeout((int) Math.max(1, leftMillis));
      socket.getOutputStream().write(Wire.message(request));
      DataInputStream in = new DataInputStream(socket.getInputStream());
      byte[] answer = new byte[in.readInt()];
      in.readFully(answer);
      idle.push(socket);
      return Wire.input(answer);
    } catch (IOException e) {
      closeQuietly(socket);
      throw StoreException.unanswered("No answer from the server", e);
    }
  }

  private Socket connect() throws StoreException {
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), timeoutMillis);
      socket.setTcpNoDelay(true);
      return socket;
    } catch (IOException e) {
      closeQuietly(socket);
      throw StoreException.refused("No connection to the server", e);
    }
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // Nothing hangs on it.
    }
  }

  /** Reads an answer's fields. */
  private interface Reader<T> {
    T read(DataInputStream in) throws IOException;
  }

  private <T> T ask(Reader<T> reader, Wire.Body request) throws StoreException {
    try {
      return reader.read(call(request));
    } catch (IOException e) {
      throw StoreException.unanswered("The answer is too short", e);
    }
  }

  @Override
  public void checkOptions(LockOptions options) {
    // All that the engine allows.
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    long number = ask(DataInputStream::readLong, out -> {
      out.writeByte(RemoteServer.ACQUIRE);
      Wire.writeClaim(out, claim);
    });
    return number == 0 ? Optional.empty() : Optional.of(new RemoteGrant(claim, number));
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Optional<Grant> grant = tryAcquire(claim);
    return grant.isPresent()
        ? new Acquisition.Granted(grant.get())
        : new Acquisition.Queued(new PollingTicket(claim), ASK_AGAIN);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    boolean released = ask(DataInputStream::readBoolean, out -> {
      out.writeByte(RemoteServer.RELEASE);
      out.writeUTF(grant.claim().ownerId());
      out.writeLong(holdFor.toNanos());
    });
    return released ? ReleaseOutcome.RELEASED : ReleaseOutcome.ALREADY_LOST;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    DataInputStream unused = call(out -> {
      out.writeByte(RemoteServer.WITHDRAW);
      Wire.writeClaim(out, claim);
    });
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return ask(
        in -> {
          List<Renewal> results = new ArrayList<>();
          for (Grant grant : grants) {
            results.add(
                in.readBoolean() ? new Renewal.Renewed(grant.claim().ttl()) : new Renewal.Lost());
          }
          return results;
        },
        out -> {
          out.writeByte(RemoteServer.RENEW);
          out.writeInt(grants.size());
          for (Grant grant : grants) {
            out.writeUTF(grant.claim().ownerId());
          }
        });
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    long leftNanos = ask(DataInputStream::readLong, out -> {
      out.writeByte(RemoteServer.EXTEND);
      out.writeUTF(grant.claim().ownerId());
      out.writeLong(ttl.toNanos());
    });
    return leftNanos == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(leftNanos));
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    long leftNanos = ask(DataInputStream::readLong, out -> {
      out.writeByte(RemoteServer.VERIFY);
      out.writeUTF(grant.claim().ownerId());
    });
    return leftNanos == 0 ? Optional.empty() : Optional.of(Duration.ofNanos(leftNanos));
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return ask(
        in -> in.readBoolean() ? Optional.of(Wire.readHolder(in)) : Optional.empty(), out -> {
          out.writeByte(RemoteServer.INSPECT);
          out.writeUTF(key.name());
        });
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return ask(
        in -> {
          List<StoredLock> held = new ArrayList<>();
          for (int n = in.readInt(); n > 0; n--) {
            LockKey key = new LockKey(kind, in.readUTF());
            held.add(new StoredLock(key, Wire.readHolder(in), OptionalInt.empty()));
          }
          return held;
        },
        out -> {
          out.writeByte(RemoteServer.LIST);
          out.writeUTF(namePrefix);
          out.writeInt(limit);
        });
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return ask(DataInputStream::readBoolean, out -> {
      out.writeByte(RemoteServer.FORCE_RELEASE);
      out.writeUTF(key.name());
      out.writeLong(number);
    });
  }

  @Override
  public void close() {
    for (Socket socket = idle.poll(); socket != null; socket = idle.poll()) {
      closeQuietly(socket);
    }
  }

  /** No line at the server: each look is an attempt. */
  private final class PollingTicket implements Ticket {
    private final Claim claim;

    PollingTicket(Claim claim) {
      this.claim = claim;
    }

    @Override
    public Status poll() throws StoreException {
      Optional<Grant> grant = tryAcquire(claim);
      return grant.isPresent() ? new Granted(grant.get()) : new Waiting(ASK_AGAIN);
    }

    @Override
    public Optional<String> holder() {
      return Optional.empty();
    }

    @Override
    public void close() {
      // Nothing stands in line.
    }
  }
}
