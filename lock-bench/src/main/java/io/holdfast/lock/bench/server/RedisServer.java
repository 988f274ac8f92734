package io.holdfast.lock.bench.server;

import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.GenericContainer;
import redis.clients.jedis.RedisClient;

/** Redis without persistence, as fast as it can be. */
public final class RedisServer extends BenchServer {
  private final RedisClient client;

  @SuppressWarnings("resource") // Closed by the superclass.
  public RedisServer(int port) {
    super(
        new GenericContainer<>("redis:8.0")
            .withCommand("--port", Integer.toString(port), "--save", "", "--appendonly", "no"),
        logged(".*Ready to accept connections.*"),
        port,
        "redis://" + HOST + ":" + port,
        "in memory only (save \"\", appendonly no)",
        "commands, those inside scripts included");
    this.client = RedisClient.create(URI.create(url()));
  }

  @Override
  public String version() {
    return "Redis " + figure("server", "redis_version");
  }

  @Override
  public long commands() {
    return Long.parseLong(figure("stats", "total_commands_processed"));
  }

  @Override
  public boolean hasOneThread() {
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
