package io.holdfast.lock.tck.process;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The program of a {@link ChildProcess}. Reads one command a line, in words without spaces, and
 * answers each with one line; times are in milliseconds.
 *
 * <table>
 *   <caption>Commands</caption>
 *   <tr><td>{@code client STORE_TIMEOUT TTL}</td><td>{@code ok}</td></tr>
 *   <tr><td>{@code lock NAME renewed|fixed TTL MIN_HOLD MAX_WAIT}</td>
 *       <td>{@code granted TOKEN REMAINING CRASH_BOUND} or {@code busy}</td></tr>
 *   <tr><td>{@code read NAME TTL MAX_WAIT}</td><td>as {@code lock}</td></tr>
 *   <tr><td>{@code held}</td><td>{@code held true|false REMAINING STATE}</td></tr>
 *   <tr><td>{@code append LOG ENTRY}</td><td>{@code appended} or {@code refused}</td></tr>
 *   <tr><td>{@code close}</td><td>{@code closed} or {@code lost}</td></tr>
 *   <tr><td>{@code count NAME THREADS SECTIONS FOLDER}</td>
 *       <td>{@code counted}: see {@link #section}</td></tr>
 *   <tr><td>{@code exit}</td><td>{@code bye}, and the program ends without closing anything</td></tr>
 * </table>
 *
 * <p>A failure is answered with {@code failed EXCEPTION}.
 */
public final class ChildMain {
  static final String REPLY = "@reply ";

  private static final int OPENING_TRIES_MAX = 10;

  private final StoreAccess access;
  private @Nullable LockClient client;
  private @Nullable AnyLease lease;

  private ChildMain(StoreAccess access) {
    this.access = access;
  }

  /**
   * Runs a child process; the arguments are the name of a {@link StoreAccessFactory} and its own
   * arguments.
   */
  public static void main(String[] args) throws Exception {
    StoreAccessFactory factory = Class.forName(args[0])
        .asSubclass(StoreAccessFactory.class)
        .getConstructor()
        .newInstance();
    ChildMain main = new ChildMain(factory.open(List.of(args).subList(1, args.length)));
    reply("ready");
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String answer;
      try {
        answer = main.run(line.split(" "));
      } catch (Exception | AssertionError e) {
        e.printStackTrace();
        answer = "failed " + e.toString().replaceAll("\\s+", "_");
      }
      reply(answer);
      if (answer.equals("bye")) {
        break;
      }
    }
    Runtime.getRuntime().halt(0);
  }

  /** Runs one critical section of a counting child; all children of a test share the folder. */
  static void section(Path folder, long token) throws IOException {
    Path inside = folder.resolve("inside");
    try {
      Files.createFile(inside);
    } catch (FileAlreadyExistsException e) {
      throw new AssertionError("Unsafe: two holders were in the section at once", e);
    }
    Path counter = folder.resolve("counter");
    int count;
    try {
      count = Integer.parseInt(Files.readString(counter));
    } catch (NoSuchFileException e) {
      count = 0;
    }
    Files.writeString(
        folder.resolve("tokens"),
        token + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    Files.writeString(counter, Integer.toString(count + 1));
    Files.delete(inside);
  }

  private static void reply(String line) {
    System.out.println(REPLY + line);
    System.out.flush();
  }

  private String run(String[] words) throws Exception {
    return switch (words[0]) {
      case "client" -> {
        open(millis(words[1]), millis(words[2]));
        yield "ok";
      }
      case "lock" -> lock(words);
      case "read" -> read(words);
      case "held" ->
        words("held", lease().isHeld(), lease().remaining().toMillis(), lease().state());
      case "append" -> append(words[1], words[2]);
      case "close" -> close();
      case "count" -> {
        count(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]), Path.of(words[4]));
        yield "counted";
      }
      case "exit" -> "bye";
      default -> throw new IllegalArgumentException("Unknown command " + words[0]);
    };
  }

  /**
   * Opens the client and makes it take a lock of its own first: on a busy machine, the first calls
   * of a new JVM may take more than the store timeout.
   */
  private void open(Duration storeTimeout, Duration ttl) {
    String name = "child-" + ProcessHandle.current().pid();
    for (int tries = 1; client == null; tries++) {
      LockClient opened = null;
      try {
        opened = access
            .newClient()
            .clientName(name)
            .storeTimeout(storeTimeout)
            .defaultOptions(LockOptions.renewed(ttl))
            .build();
        opened.get(name).tryLock().ifPresent(Lease::close);
        client = opened;
      } catch (LockStoreException e) {
        if (opened != null) {
          opened.close();
        }
        if (tries == OPENING_TRIES_MAX) {
          throw e;
        }
      }
    }
  }

  private String append(String log, String entry) throws Exception {
    try {
      access.guardedWrites().append(log, (Lease) lease(), entry);
      return "appended";
    } catch (LockLostException e) {
      return "refused";
    }
  }

  private String close() {
    try {
      lease().close();
      return "closed";
    } catch (LockLostException e) {
      return "lost";
    }
  }

  private String lock(String[] words) throws InterruptedException {
    Duration ttl = millis(words[3]);
    LockOptions options = (words[2].equals("fixed")
            ? LockOptions.fixed(ttl)
            : LockOptions.renewed(ttl))
        .withMinHold(millis(words[4]));
    Optional<Lease> granted = client().get(words[1], options).tryLock(millis(words[5]));
    return granted.map(got -> granted(got, got.token())).orElse("busy");
  }

  private String read(String[] words) throws InterruptedException {
    LockOptions options = LockOptions.renewed(millis(words[2]));
    Optional<ReadLease> granted =
        ((ReadWriteClient) client()).readWrite(words[1], options).read().tryLock(millis(words[3]));
    return granted.map(got -> granted(got, got.token())).orElse("busy");
  }

  private String granted(AnyLease got, long token) {
    lease = got;
    return words("granted", token, got.remaining().toMillis(), got.crashBound().toMillis());
  }

  private static String words(Object... words) {
    return Stream.of(words).map(String::valueOf).collect(Collectors.joining(" "));
  }

  private void count(String name, int threads, int sections, Path folder) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    DistributedLock lock = client().get(name);
    List<Future<?>> work = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      work.add(executor.submit(() -> {
        for (int i = 0; i < sections; i++) {
          lock.run(held -> section(folder, held.token()));
        }
        return null;
      }));
    }
    executor.shutdown();
    try {
      for (Future<?> one : work) {
        Object unused = one.get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    }
  }

  private LockClient client() {
    return Objects.requireNonNull(client, "No client yet");
  }

  private AnyLease lease() {
    return Objects.requireNonNull(lease, "No lease yet");
  }

  private static Duration millis(String text) {
    return Duration.ofMillis(Long.parseLong(text));
  }
}
