package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.testsupport.Await;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Assumptions;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A Chromium without a window, driven by chromedriver over the WebDriver protocol. */
final class Chromium {
  private static final Duration DEADLINE = Duration.ofSeconds(30);
  private static final Pattern STARTED = Pattern.compile("successfully on port (\\d+)");
  private static final String ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
  private static final List<String> ARGUMENTS = List.of(
      "--headless",
      "--no-sandbox", // Root has none, and only pages of the test are opened.
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-lcd-text",
      "--window-size=1040,740");

  private final HttpClient http = HttpClient.newHttpClient();
  private final JsonMapper json = JsonMapper.builder().build();
  private final Process driver;
  private final String session;

  private Chromium(Process driver, int port) throws IOException, InterruptedException {
    this.driver = driver;
    String sessions = "http://localhost:" + port + "/session";
    JsonNode made = send(
        "POST",
        sessions,
        Map.of(
            "capabilities",
            Map.of("alwaysMatch", Map.of("goog:chromeOptions", Map.of("args", ARGUMENTS)))));
    session = sessions + "/" + made.get("sessionId").asString();
  }

  /** Skips the test where there is no chromedriver, except in CI. */
  static void assumeIsHere() {
    boolean isHere = Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "chromedriver")));
    Assumptions.assumeTrue(
        isHere || "true".equals(System.getenv("CI")),
        "There is no chromedriver; Debian has it in the package chromium-driver");
  }

  /** Starts one with a fresh profile, which chromedriver makes and removes. */
  static Chromium start() throws Exception {
    Path log = Files.createTempFile("chromedriver", ".log");
    ProcessBuilder command = new ProcessBuilder("chromedriver", "--port=0")
        .redirectErrorStream(true)
        .redirectOutput(log.toFile());
    command.environment().put("TZ", "UTC");
    command.environment().put("LANGUAGE", "en_US");
    Process driver = command.start();
    try {
      int[] port = new int[1];
      Await.until("chromedriver starts", () -> {
        assertThat(driver.isAlive()).as(Files.readString(log)).isTrue();
        Matcher started = STARTED.matcher(Files.readString(log));
        return started.find() && (port[0] = Integer.parseInt(started.group(1))) > 0;
      });
      return new Chromium(driver, port[0]);
    } catch (Exception | AssertionError e) {
      end(driver);
      throw e;
    } finally {
      Files.delete(log);
    }
  }

  void open(String address) throws IOException, InterruptedException {
    post("/url", Map.of("url", address));
  }

  /** Returns the text that a user sees in the page. */
  String text() throws IOException, InterruptedException {
    return run("return document.body.innerText").asString();
  }

  void awaitText(String... parts) throws Exception {
    String[] last = {""};
    try {
      Await.until("text", () -> {
        last[0] = text();
        return Arrays.stream(parts).allMatch(last[0]::contains);
      });
    } catch (AssertionError e) {
      assertThat(last[0]).contains(parts);
      throw e;
    }
  }

  /** Runs JavaScript in the page, and returns what it returns. */
  JsonNode run(String script, Object... arguments) throws IOException, InterruptedException {
    return post("/execute/sync", Map.of("script", script, "args", arguments));
  }

  int count(String selector) throws IOException, InterruptedException {
    return run("return document.querySelectorAll(arguments[0]).length", selector)
        .asInt();
  }

  /** Clicks as a user does: not on what is hidden or covered. */
  void click(String selector) throws IOException, InterruptedException {
    post("/element/" + element(selector) + "/click", Map.of());
  }

  void type(String selector, String text) throws IOException, InterruptedException {
    String element = element(selector);
    post("/element/" + element + "/clear", Map.of());
    post("/element/" + element + "/value", Map.of("text", text));
  }

  /** Opens another tab, which covers the one that was in front. Returns the covered one. */
  String cover() throws IOException, InterruptedException {
    String covered = send("GET", session + "/window", null).asString();
    String tab = post("/window/new", Map.of("type", "tab")).get("handle").asString();
    show(tab);
    return covered;
  }

  void show(String tab) throws IOException, InterruptedException {
    post("/window", Map.of("handle", tab));
  }

  void closeTab() throws IOException, InterruptedException {
    send("DELETE", session + "/window", null);
  }

  void enterFrame() throws IOException, InterruptedException {
    post("/frame", Map.of("id", 0));
  }

  void leaveFrame() throws IOException, InterruptedException {
    post("/frame/parent", Map.of());
  }

  /** A command of the DevTools protocol. */
  JsonNode tool(String command, Map<String, Object> parameters)
      throws IOException, InterruptedException {
    return post("/goog/cdp/execute", Map.of("cmd", command, "params", parameters));
  }

  BufferedImage screenshot() throws IOException, InterruptedException {
    byte[] png =
        Base64.getDecoder().decode(send("GET", session + "/screenshot", null).asString());
    return ImageIO.read(new ByteArrayInputStream(png));
  }

  private String element(String selector) throws IOException, InterruptedException {
    return post("/element", Map.of("using", "css selector", "value", selector))
        .get(ELEMENT)
        .asString();
  }

  private JsonNode post(String path, Map<String, ?> body) throws IOException, InterruptedException {
    return send("POST", session + path, body);
  }

  private JsonNode send(String method, String address, Map<String, ?> body)
      throws IOException, InterruptedException {
    HttpResponse<String> response = http.send(
        HttpRequest.newBuilder(URI.create(address))
            .timeout(DEADLINE)
            .method(
                method,
                body == null
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(json.writeValueAsString(body)))
            .build(),
        HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode())
        .as(method + " " + address + " " + body + ": " + response.body())
        .isEqualTo(200);
    return json.readTree(response.body()).get("value");
  }

  void end() throws IOException, InterruptedException {
    try {
      send("DELETE", session, null);
    } finally {
      end(driver);
    }
  }

  private static void end(Process driver) throws InterruptedException {
    driver.destroy();
    if (!driver.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
      driver.destroyForcibly();
    }
  }
}
