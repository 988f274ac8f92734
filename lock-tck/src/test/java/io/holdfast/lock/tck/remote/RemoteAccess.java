package io.holdfast.lock.tck.remote;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import io.holdfast.lock.tck.TappedBuilder;
import java.io.DataInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A way to a {@link RemoteServer}; the child processes' too. */
class RemoteAccess implements StoreAccess {
  private final int port;

  RemoteAccess(int port) {
    this.port = port;
  }

  /** For child processes; takes the port. */
  public static final class Factory implements StoreAccessFactory {
    /** For reflection. */
    public Factory() {}

    @Override
    public StoreAccess open(List<String> arguments) {
      return new RemoteAccess(Integer.parseInt(arguments.get(0)));
    }
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return builder(port);
  }

  static LockClientBuilder<?> builder(int port) {
    return new TappedBuilder(
        settings -> new RemoteStore(port, settings.storeTimeout()), UnaryOperator.identity());
  }

  @Override
  public GuardedWrites guardedWrites() {
    return new RemoteLogs();
  }

  @Override
  public void close() {
    // Connections are the clients'.
  }

  /** Asks on a connection of its own, since others may have been broken. */
  private DataInputStream call(Wire.Body request) throws StoreException {
    RemoteStore once = new RemoteStore(port, Duration.ofSeconds(5));
    try {
      return once.call(request);
    } finally {
      once.close();
    }
  }

  /** The server checks the lease and writes in one request. */
  private final class RemoteLogs implements GuardedWrites {
    @Override
    public void create(String log) throws StoreException {
      DataInputStream unused = call(out -> {
        out.writeByte(RemoteServer.CREATE_LOG);
        out.writeUTF(log);
      });
    }

    @Override
    public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
      try (LeaseGuard<Grant> guard = LeaseGuard.open(lease, Grant.class)) {
        beforeEffect.run();
        DataInputStream answer = call(out -> {
          out.writeByte(RemoteServer.APPEND);
          out.writeUTF(log);
          out.writeUTF(guard.grant().claim().ownerId());
          out.writeUTF(entry);
        });
        if (!answer.readBoolean()) {
          throw guard.lost();
        }
      }
    }

    @Override
    public List<String> read(String log) throws Exception {
      DataInputStream answer = call(out -> {
        out.writeByte(RemoteServer.READ_LOG);
        out.writeUTF(log);
      });
      List<String> entries = new ArrayList<>();
      for (int n = answer.readInt(); n > 0; n--) {
        entries.add(answer.readUTF());
      }
      return entries;
    }
  }
}
