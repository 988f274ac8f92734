package io.holdfast.lock.jdbc;

import org.testcontainers.containers.GenericContainer;

/** Stops all processes of a container, as a suspended machine would. */
final class Freezer {
  private static final int TRIES = 3;

  private Freezer() {}

  /**
   * Tried again, since the kernel can fail to stop a process that waits for the disk ("unable to
   * freeze"): seen once with PostgreSQL on a busy disk.
   */
  static void freeze(GenericContainer<?> container) {
    for (int tries = 1; ; tries++) {
      try {
        container
            .getDockerClient()
            .pauseContainerCmd(container.getContainerId())
            .exec();
        return;
      } catch (RuntimeException e) {
        if (tries == TRIES || !String.valueOf(e.getMessage()).contains("unable to freeze")) {
          throw e;
        }
      }
    }
  }

  static void thaw(GenericContainer<?> container) {
    container.getDockerClient().unpauseContainerCmd(container.getContainerId()).exec();
  }
}
