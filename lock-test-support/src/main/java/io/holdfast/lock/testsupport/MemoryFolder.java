package io.holdfast.lock.testsupport;

import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Volume;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.testcontainers.containers.GenericContainer;

/**
 * A folder of the machine's memory, in which a container keeps data that must outlive its
 * processes. {@code dev/containers} deletes what a JVM that was killed has left.
 */
final class MemoryFolder {
  private static final Path ROOT = Path.of("/dev/shm");
  private static final AtomicInteger COUNT = new AtomicInteger();

  private final Path folder =
      ROOT.resolve("holdfast-" + ProcessHandle.current().pid() + "-" + COUNT.incrementAndGet());

  /** Has a container keep these folders in it; does nothing where there is no such memory. */
  void mount(GenericContainer<?> container, List<String> inside) {
    if (!Files.isWritable(ROOT)) {
      return;
    }
    List<Bind> binds = new ArrayList<>();
    for (String path : inside) {
      Path shared = folder.resolve("data-" + binds.size());
      try {
        Files.createDirectories(shared);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      binds.add(new Bind(shared.toString(), new Volume(path)));
    }
    // Not by Testcontainers' own method, which tries it first with a container of an image that it
    // pulls.
    container.withCreateContainerCmdModifier(
        create -> Objects.requireNonNull(create.getHostConfig()).withBinds(binds));
  }

  /** Deletes it, but for what another user of the machine wrote. */
  void delete() {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> content = Files.walk(folder)) {
      for (Path path : content.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException e) {
      // The container's user wrote it, and this one is not root: dev/containers deletes it later.
    }
  }
}
