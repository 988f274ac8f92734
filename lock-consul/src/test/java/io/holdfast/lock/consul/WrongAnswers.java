package io.holdfast.lock.consul;

import java.io.IOException;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.Protocol;
import okhttp3.Response;
import okhttp3.ResponseBody;
import org.jspecify.annotations.Nullable;

/** Answers some requests in Consul's place. */
final class WrongAnswers implements Interceptor {
  private volatile @Nullable Answer answer;

  private record Answer(String path, int status, String body) {}

  /** From now on every request whose path begins so is answered so. */
  void begin(String path, int status, String body) {
    answer = new Answer(path, status, body);
  }

  void end() {
    answer = null;
  }

  @Override
  public Response intercept(Chain chain) throws IOException {
    Answer given = answer;
    if (given == null || !chain.request().url().encodedPath().startsWith(given.path())) {
      return chain.proceed(chain.request());
    }
    return new Response.Builder()
        .request(chain.request())
        .protocol(Protocol.HTTP_1_1)
        .code(given.status())
        .message("Wrong")
        .body(ResponseBody.create(given.body(), MediaType.get("text/plain")))
        .build();
  }
}
