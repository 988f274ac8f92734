package io.holdfast.lock.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Sets the cores on which a process may run, with util-linux's taskset. */
final class Cores {
  private Cores() {}

  /** Lets processes run only on this core, counted from 0. */
  static void keep(List<Long> pids, int core) throws BenchException {
    set(pids, Integer.toString(core));
  }

  /** Lets processes run on any core. */
  static void free(List<Long> pids) throws BenchException {
    set(pids, "0-" + (Runtime.getRuntime().availableProcessors() - 1));
  }

  private static void set(List<Long> pids, String cores) throws BenchException {
    for (long pid : pids) {
      set(pid, cores);
    }
  }

  private static void set(long pid, String cores) throws BenchException {
    try {
      Process taskset = new ProcessBuilder("taskset", "-a", "-c", "-p", cores, Long.toString(pid))
          .redirectErrorStream(true)
          .start();
      String said =
          new String(taskset.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      if (taskset.waitFor() != 0) {
        throw new BenchException("process " + pid + " could not be kept on a core: " + said, null);
      }
    } catch (IOException e) {
      throw new BenchException("taskset could not be run: install util-linux", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    }
  }
}
