package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.ConsulHttp;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/**
 * Long polls on all keys of a semaphore, one after the other, on behalf of the waiter that is the
 * first in line, until there is something new for it. That wakes it. Thread-safe.
 */
final class FolderWatch implements ConsulHttp.HeardTree {
  private static final Duration WAIT = Duration.ofMinutes(1);

  private final ConsulHttp http;
  private final Consumer<Runnable> later;
  private final String folder;
  private final Predicate<ConsulHttp.Tree> isNews;
  private final Runnable wakeUp;
  private volatile boolean ended;
  private volatile long index;
  private volatile @Nullable Call call;

  /** @param later runs something after a while */
  FolderWatch(
      ConsulHttp http,
      Consumer<Runnable> later,
      String folder,
      Predicate<ConsulHttp.Tree> isNews,
      Runnable wakeUp) {
    this.http = http;
    this.later = later;
    this.folder = folder;
    this.isNews = isNews;
    this.wakeUp = wakeUp;
  }

  /** Tells of what changes after that index. */
  void start(long after) {
    index = after;
    call = http.watchTree(folder, after, WAIT, this);
    if (ended) {
      stop();
    }
  }

  /** Whether it tells nothing more. */
  boolean isEnded() {
    return ended;
  }

  void stop() {
    ended = true;
    Call asked = call;
    if (asked != null) {
      asked.cancel();
    }
  }

  @Override
  public void answered(ConsulHttp.Tree tree) {
    if (ended) {
      return;
    }
    boolean goesOn = false;
    try {
      if (!isNews.test(tree)) {
        // Consul's count begins anew if its data was lost.
        start(tree.index() < index ? 0 : tree.index());
        goesOn = true;
      }
    } finally {
      if (!goesOn) {
        end();
      }
    }
  }

  @Override
  public void failed(String why) {
    if (!ended) {
      // Not at once: an agent that refuses would be asked without end.
      later.accept(this::end);
    }
  }

  private void end() {
    ended = true;
    wakeUp.run();
  }
}
