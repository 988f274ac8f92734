package io.holdfast.lock.tck.remote;

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
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Serves a store over TCP, one request after the other; can be paused, killed and started. */
final class RemoteServer implements AutoCloseable {
  static final int ACQUIRE = 1;
  static final int RELEASE = 2;
  static final int WITHDRAW = 3;
  static final int RENEW = 4;
  static final int VERIFY = 5;
  static final int INSPECT = 6;
  static final int FORCE_RELEASE = 7;
  static final int CREATE_LOG = 8;
  static final int APPEND = 9;
  static final int READ_LOG = 10;
  static final int EXTEND = 11;
  static final int LIST = 12;

  private final LockStore store;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
  private final int port;
  private volatile ServerSocket listener;

  // All below: under this object's monitor.
  private final Map<String, Grant> grants = new HashMap<>();
  private final Map<String, List<String>> logs = new HashMap<>();
  private boolean paused;

  RemoteServer(LockStore store) {
    this.store = store;
    listener = listenAnywhere();
    port = listener.getLocalPort();
    startAccepting(listener);
  }

  int port() {
    return port;
  }

  synchronized void pause() {
    paused = true;
  }

  synchronized void resume() {
    paused = false;
    notifyAll();
  }

  void kill() {
    closeQuietly(listener);
    connections.forEach(RemoteServer::closeQuietly);
    connections.clear();
  }

  void start() throws IOException, InterruptedException {
    long startNanos = System.nanoTime();
    while (listener.isClosed()) {
      try {
        listener = listen(port);
        startAccepting(listener);
      } catch (BindException e) {
        // The thread that was in accept() closes the old one.
        if (System.nanoTime() - startNanos > 10_000_000_000L) {
          throw e;
        }
        Thread.sleep(5);
      }
    }
  }

  /** The grants that are neither released nor over. */
  synchronized long grants() throws StoreException {
    List<String> over = new ArrayList<>();
    for (Map.Entry<String, Grant> grant : grants.entrySet()) {
      if (store.verify(grant.getValue()).isEmpty()) {
        over.add(grant.getKey());
      }
    }
    over.forEach(grants::remove);
    return grants.size();
  }

  long connections() {
    return connections.size();
  }

  @Override
  public void close() {
    resume();
    kill();
  }

  /**
   * On a port that the system gives to nobody who connects: a client that tries again and again
   * while the server is down would at some time get the server's own port, and keep it.
   */
  private static ServerSocket listenAnywhere() {
    for (int attempt = 0; attempt < 100; attempt++) {
      try {
        return listen(ThreadLocalRandom.current().nextInt(20_000, 32_000));
      } catch (IOException e) {
        // Somebody has it.
      }
    }
    throw new IllegalStateException("No port is free");
  }

  private static ServerSocket listen(int port) throws IOException {
    ServerSocket listener = new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      return listener;
    } catch (IOException e) {
      listener.close();
      throw e;
    }
  }

  private void startAccepting(ServerSocket current) {
    startThread(() -> {
      while (true) {
        Socket socket;
        try {
          socket = current.accept();
        } catch (IOException e) {
          return; // killed
        }
        connections.add(socket);
        if (current.isClosed()) {
          closeQuietly(socket); // killed meanwhile
        }
        startThread(() -> serve(socket));
      }
    });
  }

  private void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      DataInputStream in = new DataInputStream(socket.getInputStream());
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      while (true) {
        byte[] request = new byte[in.readInt()];
        in.readFully(request);
        out.write(answer(Wire.input(request)));
        out.flush();
      }
    } catch (IOException | StoreException e) {
      // The client is gone, or we are.
    } finally {
      connections.remove(socket);
    }
  }

  private synchronized byte[] answer(DataInputStream in) throws IOException, StoreException {
    while (paused) {
      try {
        wait();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }
    return Wire.message(out -> answer(in, out));
  }

  private void answer(DataInputStream in, DataOutputStream out) throws IOException, StoreException {
    switch (in.readByte()) {
      case ACQUIRE -> {
        Claim claim = Wire.readClaim(in);
        Optional<Grant> grant = store.tryAcquire(claim);
        grant.ifPresent(given -> grants.put(claim.ownerId(), given));
        out.writeLong(grant.map(Grant::number).orElse(0L));
      }
      case RELEASE -> {
        Grant grant = grants.get(in.readUTF());
        Duration holdFor = Duration.ofNanos(in.readLong());
        out.writeBoolean(grant != null && store.release(grant, holdFor) == ReleaseOutcome.RELEASED);
      }
      case WITHDRAW -> {
        Claim claim = Wire.readClaim(in);
        store.withdraw(claim);
        grants.remove(claim.ownerId());
      }
      case RENEW -> {
        for (int n = in.readInt(); n > 0; n--) {
          Grant grant = grants.get(in.readUTF());
          out.writeBoolean(
              grant != null && store.renew(List.of(grant)).get(0) instanceof Renewal.Renewed);
        }
      }
      case EXTEND -> {
        Grant grant = grants.get(in.readUTF());
        Duration ttl = Duration.ofNanos(in.readLong());
        out.writeLong(
            grant == null ? 0 : store.extend(grant, ttl).map(Duration::toNanos).orElse(0L));
      }
      case LIST -> {
        List<StoredLock> held = store.list(LockKind.MUTEX, in.readUTF(), in.readInt());
        out.writeInt(held.size());
        for (StoredLock lock : held) {
          out.writeUTF(lock.key().name());
          Wire.writeHolder(out, lock.holder());
        }
      }
      case VERIFY -> out.writeLong(verify(in.readUTF()));
      case INSPECT -> {
        Optional<StoredHolder> holder = store.inspect(new LockKey(LockKind.MUTEX, in.readUTF()));
        out.writeBoolean(holder.isPresent());
        if (holder.isPresent()) {
          Wire.writeHolder(out, holder.get());
        }
      }
      case FORCE_RELEASE ->
        out.writeBoolean(
            store.forceRelease(new LockKey(LockKind.MUTEX, in.readUTF()), in.readLong()));
      case CREATE_LOG -> logs.put(in.readUTF(), new ArrayList<>());
      case APPEND -> {
        String log = in.readUTF();
        boolean stands = verify(in.readUTF()) > 0;
        if (stands) {
          logs.get(log).add(in.readUTF());
        }
        out.writeBoolean(stands);
      }
      case READ_LOG -> {
        List<String> entries = logs.get(in.readUTF());
        out.writeInt(entries.size());
        for (String entry : entries) {
          out.writeUTF(entry);
        }
      }
      default -> throw new IOException("Unknown request");
    }
  }

  private long verify(String ownerId) throws StoreException {
    Grant grant = grants.get(ownerId);
    return grant == null ? 0 : store.verify(grant).map(Duration::toNanos).orElse(0L);
  }

  private static void startThread(Runnable body) {
    Thread thread = new Thread(body, "remote-server");
    thread.setDaemon(true);
    thread.start();
  }

  private static void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      // Nothing hangs on it.
    }
  }
}
