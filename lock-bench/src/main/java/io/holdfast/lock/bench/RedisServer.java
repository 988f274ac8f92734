package io.holdfast.lock.bench;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.GenericContainer;
import redis.clients.jedis.RedisClient;

/** Redis without persistence: the fastest that it can be. */
final class RedisServer extends BenchServer {
  private final int port;
  private final RedisClient client;

  RedisServer() {
    this(freePort());
  }

  @SuppressWarnings("resource") // Closed by the superclass.
  private RedisServer(int port) {
    super(
        new GenericContainer<>("redis:8.0")
            .withCommand("--port", Integer.toString(port), "--save", "", "--appendonly", "no"),
        logged(".*Ready to accept connections.*"),
        "in memory only (save \"\", appendonly no)");
    this.port = port;
    this.client = RedisClient.create("127.0.0.1", port);
  }

  @Override
  String url() {
    return "redis://127.0.0.1:" + port;
  }

  @Override
  String version() {
    return "Redis " + figure("server", "redis_version");
  }

  @Override
  String counted() {
    return "commands, those inside scripts included";
  }

  @Override
  long commands() {
    return Long.parseLong(figure("stats", "total_commands_processed"));
  }

  @Override
  boolean hasOneThread() {
    return true;
  }

  private String figure(String section, String name) {
    String info = client.info(section);
    Matcher matcher = Pattern.compile("^" + name + ":(\\S+)", Pattern.MULTILINE).matcher(info);
    if (!matcher.find()) {
      throw new IllegalStateException("Redis says nothing of " + name);
    }
    return matcher.group(1);
  }

  @Override
  public void close() {
    client.close();
    super.close();
  }
}
