package io.holdfast.lock.consul;

import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Interceptor;
import okhttp3.Response;

/** The requests of a client to Consul, seen by an interceptor of the user's. */
final class Requests implements Interceptor {
  private final Queue<String> paths = new ConcurrentLinkedQueue<>();
  private final Queue<String> answered = new ConcurrentLinkedQueue<>();
  private final AtomicInteger longPolls = new AtomicInteger();

  @Override
  public Response intercept(Chain chain) throws IOException {
    String path = chain.request().url().encodedPath();
    paths.add(path);
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

  /** Not on a session, which every client watches. */
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

  /** The number of those begun; Consul may not have heard the last of them yet. */
  long count(String prefix) {
    return paths.stream().filter(path -> path.startsWith(prefix)).count();
  }

  /** The number of those that Consul has answered, and so done. */
  long answered(String prefix) {
    return answered.stream().filter(path -> path.startsWith(prefix)).count();
  }

  /** The number of those that wait for a key at the moment. */
  int longPolls() {
    return longPolls.get();
  }
}
