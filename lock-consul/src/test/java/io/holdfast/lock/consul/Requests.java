package io.holdfast.lock.consul;

import java.io.IOException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Interceptor;
import okhttp3.Request;
import okhttp3.Response;

/** A counter of a client's requests to Consul, as an interceptor of the user's. */
final class Requests implements Interceptor {
  private final Queue<String> paths = new ConcurrentLinkedQueue<>();
  private final Queue<String> answered = new ConcurrentLinkedQueue<>();
  private final Queue<String> sentAgain = new ConcurrentLinkedQueue<>();
  private final Set<Request> begun =
      Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
  private final AtomicInteger longPolls = new AtomicInteger();

  @Override
  public Response intercept(Chain chain) throws IOException {
    String path = chain.request().url().encodedPath();
    paths.add(path);
    if (!begun.add(chain.request())) {
      sentAgain.add(path);
    }
    boolean waits = chain.request().url().queryParameter("wait") != null && isOnKey(path);
    if (waits) {
      longPolls.incrementAndGet();
    }
    try {
      Response response = chain.proceed(chain.request());
      answered.add(path);
      return response;
    } finally {
      if (waits) {
        longPolls.decrementAndGet();
      }
    }
  }

  /**
   * Whether a path is that of an attempt's key, not of a session's own, which every client watches.
   */
  private static boolean isOnKey(String path) {
    return path.startsWith("/v1/kv/holdfast/m/");
  }

  void forget() {
    paths.clear();
    answered.clear();
  }

  List<String> paths() {
    return List.copyOf(paths);
  }

  /**
   * Returns the number of requests that were begun; Consul may not have received the last of them
   * yet.
   */
  long count(String prefix) {
    return paths.stream().filter(path -> path.startsWith(prefix)).count();
  }

  /** Returns the number of copies: requests that were begun before. */
  long sentAgain(String prefix) {
    return sentAgain.stream().filter(path -> path.startsWith(prefix)).count();
  }

  /** Returns the number of requests that Consul has answered, and so carried out. */
  long answered(String prefix) {
    return answered.stream().filter(path -> path.startsWith(prefix)).count();
  }

  /** Returns the number of long polls on keys that are open. */
  int longPolls() {
    return longPolls.get();
  }
}
