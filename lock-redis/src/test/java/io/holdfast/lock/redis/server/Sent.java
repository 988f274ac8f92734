package io.holdfast.lock.redis.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.UnifiedJedis;

/**
 * The commands that a server was sent, below the calls that they were sent for. The server itself
 * tells them, by MONITOR, and the commands of its scripts.
 */
final class Sent implements AutoCloseable {
  private static final Path EXPECTED =
      Path.of("src/test/resources/io/holdfast/lock/redis/sent.txt");
  private static final Path SEEN = Path.of("target/sent.txt");

  private static final String LEGEND =
      "What the mutex sends to Redis. Below each script that is run stand the commands that it"
          + " calls.\n";

  private static final Pattern COMMAND = Pattern.compile("\\+\\S+ \\[\\d+ (\\S+)\\] (.*)");
  private static final Pattern WORD = Pattern.compile("\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"");

  /** In place of an address, if the command is a script's. */
  private static final String OF_A_SCRIPT = "lua";

  /** The first words of commands that Jedis sends by itself. */
  private static final Set<String> OF_JEDIS = Set.of("HELLO", "CLIENT", "PING");

  private final UnifiedJedis redis;
  private final Socket socket;
  private final BufferedReader monitor;
  private final Map<String, String> names = new LinkedHashMap<>();
  private final StringBuilder all = new StringBuilder();

  Sent(HostAndPort server, UnifiedJedis redis) throws IOException {
    this.redis = redis;
    socket = new Socket(server.getHost(), server.getPort());
    socket.setSoTimeout((int) Await.PATIENCE.toMillis());
    monitor = new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
    socket.getOutputStream().write("MONITOR\r\n".getBytes(StandardCharsets.US_ASCII));
    assertThat(monitor.readLine()).isEqualTo("+OK");
  }

  /** Writes a name in place of a text. */
  void name(String text, String name) {
    names.put(text, name);
  }

  /** Writes down the SHA-1 of the texts of scripts, and has the server know them. */
  void scripts(Map<String, Script> scripts) {
    all.append(LEGEND).append("\nThe scripts, and the SHA-1 of their texts\n\n");
    scripts.forEach((name, script) -> {
      String sha = redis.scriptLoad(script.text);
      all.append("  ").append(sha).append("  ").append(name).append('\n');
      name(sha, name);
      name(asTold(script.text), "<the text of " + name + ">");
    });
  }

  private static String asTold(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }

  /** Takes a step, and writes down what it had the server be sent. */
  <T> T by(String call, Callable<T> step) throws Exception {
    List<String> unused = upToNow();
    T result = step.call();
    all.append('\n').append(call).append("\n\n");
    upToNow().forEach(line -> all.append(line).append('\n'));
    return result;
  }

  /** Returns the commands since the last time, each on a line. */
  private List<String> upToNow() throws IOException {
    String mark = UUID.randomUUID().toString();
    String unused = redis.echo(mark);
    List<String> lines = new ArrayList<>();
    for (String told = monitor.readLine(); !told.contains(mark); told = monitor.readLine()) {
      Matcher command = COMMAND.matcher(told);
      assertThat(command.matches()).as(told).isTrue();
      List<String> words = WORD.matcher(command.group(2))
          .results()
          .map(word -> named(word.group(1)))
          .toList();
      if (!OF_JEDIS.contains(words.get(0))) {
        String indent = command.group(1).equals(OF_A_SCRIPT) ? "    " : "  ";
        lines.add(indent + String.join(" ", words));
      }
    }
    return lines;
  }

  private String named(String word) {
    String named = word;
    for (Map.Entry<String, String> name : names.entrySet()) {
      named = named.replace(name.getKey(), name.getValue());
    }
    named = named
        .replaceAll("\\b[0-9a-f]{32}\\b", "<owner>")
        .replaceAll(":inbox:[0-9a-f]{16}\\b", ":inbox:<client>")
        .replaceAll("\\b\\d{16}\\b", "<number>")
        .replaceAll("\\b\\d{13}\\b", "<time>");
    return named.isEmpty() || named.matches("[^<].* .*") ? "'" + named + "'" : named;
  }

  /** Writes a file of all that was sent, and compares it with the checked-in one. */
  void check() throws IOException {
    Files.createDirectories(SEEN.getParent());
    Files.writeString(SEEN, all);
    assertThat(SEEN)
        .as("If the change is meant, copy lock-redis/%s to lock-redis/%s", SEEN, EXPECTED)
        .hasSameTextualContentAs(EXPECTED);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
