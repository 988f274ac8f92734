package io.holdfast.lock.torture;

import com.github.dockerjava.api.model.AccessMode;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Volume;
import io.holdfast.lock.torture.Attempt.Interval;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.testcontainers.containers.GenericContainer;

/**
 * The wall clocks of servers, which can be set. Every process of a container loads a library that
 * adds an offset, which is in a file that the container shares with this process.
 *
 * <p>Threads: one at a time for each server.
 */
final class ServerClocks implements AutoCloseable {
  /** A store's clock may jump ahead by this much, whatever the TTL (docs/SAFETY.md). */
  static final int HARMLESS_MILLIS = 20;

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final String SOURCE = "wall-clock.c";
  private static final String LIBRARY = "wall-clock.so";

  /** The path of the shared folder in a container. */
  private static final String SHARED = "/holdfast-clock/";

  private final Path folder;
  private final List<ByteBuffer> clocks = new ArrayList<>();
  private final List<Interval> jumpsAhead = new ArrayList<>(); // under its own monitor

  ServerClocks() throws IOException {
    folder = Files.createTempDirectory("holdfast-clock");
  }

  /**
   * Compiles the library, before servers are added.
   *
   * @throws IOException there is no C compiler, or it failed
   */
  void compile() throws IOException, InterruptedException {
    share(folder);
    Path source = folder.resolve(SOURCE);
    try (InputStream text =
        Objects.requireNonNull(ServerClocks.class.getResourceAsStream(SOURCE), SOURCE)) {
      Files.copy(text, source);
    }
    Path library = folder.resolve(LIBRARY);
    Process compiling = new ProcessBuilder(
            "cc",
            "-shared",
            "-fPIC",
            "-O2",
            "-o",
            library.toString(),
            source.toString(),
            "-ldl",
            "-lpthread")
        .redirectErrorStream(true)
        .start();
    String said = new String(compiling.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (compiling.waitFor() != 0) {
      throw new IOException("cc: " + said);
    }
    share(library);
  }

  /** Lets all users read it, since servers run as other ones. */
  private static void share(Path path) throws IOException {
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /** Gives the next server a clock of its own. */
  void addTo(GenericContainer<?> server) throws IOException {
    Path ahead = Files.createFile(folder.resolve("ahead-" + clocks.size()));
    try (FileChannel file =
        FileChannel.open(ahead, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      clocks.add(
          file.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES).order(ByteOrder.nativeOrder()));
    }
    share(ahead);
    Bind bind = new Bind(folder.toString(), new Volume(SHARED), AccessMode.ro);
    server
        .withCreateContainerCmdModifier(
            create -> Objects.requireNonNull(create.getHostConfig()).withBinds(bind))
        .withEnv("LD_PRELOAD", SHARED + LIBRARY)
        .withEnv("HOLDFAST_CLOCK", SHARED + ahead.getFileName());
  }

  /** Sets a server's clock to this much ahead of the machine's; negative: behind. */
  void set(int server, long aheadMillis) {
    ByteBuffer clock = clocks.get(server);
    long aheadNanos = aheadMillis * 1_000_000;
    long before = System.nanoTime();
    long steps = aheadNanos - (long) LONGS.getAndSet(clock, 0, aheadNanos);
    if (steps > HARMLESS_MILLIS * 1_000_000L) {
      synchronized (jumpsAhead) {
        jumpsAhead.add(new Interval(before, System.nanoTime()));
      }
    }
  }

  /** Returns when clocks jumped ahead by more than is harmless. */
  List<Interval> jumpsAhead() {
    synchronized (jumpsAhead) {
      return List.copyOf(jumpsAhead);
    }
  }

  @Override
  public void close() throws IOException {
    Main.deleteAll(folder);
  }
}
