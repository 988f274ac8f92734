package io.holdfast.lock.spring.boot;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;
import org.springframework.core.io.ClassPathResource;
import org.springframework.util.MimeType;

/**
 * The page that shows what the endpoint {@code locks} returns, and the last losses of this process.
 * It is a part of that endpoint: whatever exposes, moves, caps or secures {@code /actuator/locks}
 * does the same to {@code /actuator/locks/page}.
 */
@EndpointWebExtension(endpoint = LocksEndpoint.class)
final class LocksPage {
  private static final MimeType HTML = new MimeType("text", "html", StandardCharsets.UTF_8);

  private final String html;
  private final @Nullable RecentLosses losses;

  /**
   * @param forceRelease whether the page offers to take a lock from its holder
   * @param losses null if they are not recorded
   */
  LocksPage(boolean forceRelease, @Nullable RecentLosses losses) {
    this.html = html(forceRelease);
    this.losses = losses;
  }

  /**
   * Returns a part of the page; null, which is "not found", if there is no such part.
   *
   * @param part {@code page} or {@code losses}
   */
  @ReadOperation(produces = {"text/html", "application/json"})
  @Nullable
  WebEndpointResponse<Object> read(@Selector String part) {
    return switch (part) {
      case "page" -> new WebEndpointResponse<>(html, WebEndpointResponse.STATUS_OK, HTML);
      case "losses" ->
        new WebEndpointResponse<>(
            losses == null
                ? new Losses(false, 0, List.of())
                : new Losses(true, RecentLosses.MOST, losses.newestFirst()),
            WebEndpointResponse.STATUS_OK,
            MimeType.valueOf("application/json"));
      default -> null;
    };
  }

  /** Returns the page, which allows its own script and style, by their hashes, and no others. */
  private static String html(boolean forceRelease) {
    String page = resource();
    return page.replace("{script-hash}", hash(page, "script"))
        .replace("{style-hash}", hash(page, "style"))
        .replace("{force-release}", Boolean.toString(forceRelease));
  }

  private static String resource() {
    try {
      return new ClassPathResource("locks-page.html", LocksPage.class)
          .getContentAsString(StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String hash(String page, String element) {
    int begin = page.indexOf("<" + element + ">") + element.length() + 2;
    String content = page.substring(begin, page.indexOf("</" + element + ">", begin));
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(content.getBytes(StandardCharsets.UTF_8));
      return "sha256-" + Base64.getEncoder().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  /**
   * The last losses.
   *
   * @param recorded false if the client was not made by the auto-configuration
   * @param most the number that is kept
   * @param losses the newest first
   */
  record Losses(boolean recorded, int most, List<RecentLosses.Loss> losses)
      implements OperationResponseBody {}
}
