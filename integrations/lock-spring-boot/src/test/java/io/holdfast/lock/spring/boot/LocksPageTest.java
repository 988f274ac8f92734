package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.HeldLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.imageio.ImageIO;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The page as an administrator sees it, in a real browser. */
@Tag("nightly")
class LocksPageTest {
  private static final AtomicInteger DATABASES = new AtomicInteger();
  private static final String[] FORCE_RELEASE = {
    "management.endpoint.locks.access=unrestricted", "holdfast.actuator.force-release=true"
  };
  private static final String BUTTON = "#locks tbody button";

  private static Chromium chromium;

  private final HttpClient http = HttpClient.newHttpClient();

  @BeforeAll
  static void startChromium() throws Exception {
    Chromium.assumeIsHere();
    chromium = Chromium.start();
  }

  @AfterAll
  static void endChromium() throws Exception {
    if (chromium != null) {
      chromium.end();
    }
  }

  @Test
  void isNotThereUnlessItIsAskedFor() throws Exception {
    try (ConfigurableApplicationContext context = start("holdfast.actuator.page=false")) {
      assertThat(status(page(context))).isEqualTo(404);
      assertThat(status(page(context).replace("/page", "/losses"))).isEqualTo(404);
      assertThat(status(page(context).replace("/page", ""))).isEqualTo(200);
    }
    try (ConfigurableApplicationContext context = start()) {
      assertThat(status(page(context))).isEqualTo(200);
      assertThat(status(page(context) + "s")).isEqualTo(404);
    }
    try (ConfigurableApplicationContext context =
        start("management.endpoints.web.exposure.include=health")) {
      assertThat(status(page(context))).isEqualTo(404);
    }
  }

  @Test
  void showsWhoHoldsWhatAndHowManyWait() throws Exception {
    try (ConfigurableApplicationContext context = start();
        LockClient other = other(context)) {
      CompletableFuture<Void> waiter;
      try (Lease lease = locks(context).get("orders/42").tryLock().orElseThrow()) {
        waiter = waitsFor(other.get("orders/42"));
        chromium.open(page(context));

        Await.until("one waits", () -> cells(1).get(5).equals("1"));
        List<String> cells = cells(1);
        assertThat(cells.get(0)).isEqualTo("orders/42");
        assertThat(cells.get(1)).startsWith("shop");
        assertThat(cells.get(2)).isEqualTo(Long.toString(lease.token()));
        assertThat(cells.get(3)).contains("20");
        assertThat(cells.get(4)).matches("\\d+(\\.\\d)? s");
        assertThat(chromium.text())
            .containsPattern("As the store answered at \\d[^,]+, \\d+ s ago");
      }
      waiter.join();
      chromium.awaitText("None.");
      assertThat(chromium.count("#locks tbody tr")).isZero();
    }
  }

  @Test
  void showsTheLocksWhoseNamesBeginAsTyped() throws Exception {
    try (ConfigurableApplicationContext context = start();
        Lease order = locks(context).get("orders/42").tryLock().orElseThrow();
        Lease report = locks(context).get("reports/42").tryLock().orElseThrow()) {
      chromium.open(page(context));
      chromium.awaitText("orders/42", "reports/42");

      chromium.type("#prefix", "rep");
      chromium.click("#filter button");

      chromium.awaitText("reports/42");
      assertThat(chromium.text()).doesNotContain("orders/42");
      order.verify();
      report.verify();
    }
  }

  @Test
  void remembersTheLastLossesOfThisProcess() throws Exception {
    try (ConfigurableApplicationContext context =
            start("holdfast.ttl=3s", "holdfast.store-timeout=1s");
        LockClient other = other(context)) {
      Lease lease = locks(context).get("orders/42").tryLock().orElseThrow();
      chromium.open(page(context));
      chromium.awaitText("orders/42", "None since it started.");

      assertThat(other.get("orders/42").forceRelease(lease.token())).isTrue();

      Await.until("the loss", () -> chromium.count("#losses tbody tr") == 1);
      assertThat(chromium
              .run("return document.querySelector('#losses tbody').innerText")
              .asString())
          .contains("orders/42", Long.toString(lease.token()), "TAKEN");
      assertThat(lease.state()).isEqualTo(LeaseState.LOST);
    }
  }

  @Test
  void namesOfLocksAreNeverMarkup() throws Exception {
    String evil = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'"
        + "</script>";
    try (ConfigurableApplicationContext context = start(FORCE_RELEASE);
        Lease lease = locks(context).get(evil).tryLock().orElseThrow()) {
      chromium.open(page(context));
      chromium.awaitText(evil);
      chromium.click(BUTTON);
      Await.until("the question", () -> chromium.count("dialog[open]") == 1);

      assertThat(chromium
              .run("return document.getElementById('release-name').innerText")
              .asString())
          .isEqualTo(evil);
      assertThat(chromium.count("img")).isZero();
      assertThat(chromium.count("body script")).isEqualTo(1);
      assertThat(chromium.run("return document.title").asString()).isEqualTo("Locks");
      lease.verify();
    }
  }

  @Test
  void noScriptButItsOwnRunsEvenIfItGotIntoThePage() throws Exception {
    try (ConfigurableApplicationContext context = start()) {
      chromium.open(page(context));
      chromium.awaitText("None.");

      chromium.run("""
          window.blocked = [];
          document.addEventListener(
              'securitypolicyviolation', e => window.blocked.push(e.effectiveDirective));
          document.body.insertAdjacentHTML(
              'beforeend', '<img src=data:, onerror="document.title=1"><style>p{color:red}</style>');
          const script = document.createElement('script');
          script.textContent = 'document.title=2';
          document.body.append(script);
          fetch('http://127.0.0.2:1/').catch(() => {});
          """);

      Await.until(
          "four violations",
          () -> chromium
              .run("return window.blocked.sort().join()")
              .asString()
              .equals("connect-src,script-src-attr,script-src-elem,style-src-elem"));
      assertThat(chromium.run("return document.title").asString()).isEqualTo("Locks");
    }
  }

  @Test
  void asksNobodyButTheEndpoint() throws Exception {
    try (ConfigurableApplicationContext context = start()) {
      chromium.open(page(context));
      chromium.awaitText("None.");

      String endpoint = page(context).replace("/page", "");
      List<String> asked = List.of(chromium
          .run("return performance.getEntriesByType('resource').map(e => e.name).join(' ')")
          .asString()
          .split(" "));
      assertThat(asked)
          .hasSizeGreaterThanOrEqualTo(2)
          .allMatch(address ->
              address.startsWith(endpoint + "?") || address.equals(endpoint + "/losses"));
    }
  }

  @Test
  void showsNothingWhileTheEndpointDoesNotAnswerAndGoesOnWhenItDoes() throws Exception {
    try (ConfigurableApplicationContext context = start(Own.class)) {
      Own.Store store = context.getBean(Own.Store.class);
      chromium.open(page(context));
      chromium.awaitText("reports/1");

      store.isBroken = true;
      chromium.awaitText("The endpoint gives no usable answer: status 500");
      assertThat(chromium.text()).doesNotContain("reports/1", "As the store answered");
      assertThat(chromium.count("tbody tr")).isZero();

      store.isBroken = false;
      chromium.awaitText("reports/1", "As the store answered");
      assertThat(chromium.text()).doesNotContain("no usable answer");
    }
    chromium.awaitText("The endpoint gives no usable answer");
    assertThat(chromium.text()).doesNotContain("reports/1");
  }

  @Test
  void anAnswerThatIsOldIsNoLongerShownEvenIfNothingSaidSo() throws Exception {
    try (ConfigurableApplicationContext context = start(Own.class)) {
      Own.Store store = context.getBean(Own.Store.class);
      chromium.open(page(context));
      chromium.awaitText("reports/1");
      store.isBroken = true;

      // As if the machine had slept for a minute.
      chromium.run("answeredAt -= 60000");

      Await.until("no row", () -> chromium.count("tbody tr") == 0);
    }
  }

  @Test
  void whatTheClientDoesNotKnowIsNotMadeUp() throws Exception {
    try (ConfigurableApplicationContext context = start(Own.class)) {
      chromium.open(page(context));
      chromium.awaitText("reports/1", "Not recorded");

      assertThat(cells(1))
          .containsExactly(
              "reports/1",
              "<b>nobody</b>",
              "9223372036854775807",
              "not known",
              "1 h 2.0 s",
              "not known");
    }
  }

  @Test
  void asksNothingWhileNobodySeesIt() throws Exception {
    try (ConfigurableApplicationContext context = start(Own.class)) {
      Own.Store store = context.getBean(Own.Store.class);
      chromium.open(page(context));
      chromium.awaitText("reports/1");

      String tab = chromium.cover();
      chromium.open(page(context) + "/../losses");
      try {
        int asked = store.asked.get();
        // Longer than the pause between two questions: that nothing happens takes time to see.
        Thread.sleep(7_000);
        assertThat(store.asked).hasValue(asked);
        chromium.closeTab();
      } finally {
        chromium.show(tab);
      }
      int asked = store.asked.get();
      Await.until("a question", () -> store.asked.get() > asked);
      chromium.awaitText("reports/1");
    }
  }

  @Test
  void aButtonKeepsTheFocusWhenTheNextAnswerComes() throws Exception {
    try (ConfigurableApplicationContext context = start(FORCE_RELEASE);
        Lease lease = locks(context).get("orders/42").tryLock().orElseThrow()) {
      chromium.open(page(context));
      chromium.awaitText("orders/42");
      chromium.run(
          "document.querySelector('#locks tbody button').focus(); window.before = answeredAt");

      Await.until(
          "the next answer",
          () -> chromium.run("return answeredAt > window.before").asBoolean());

      assertThat(chromium.run("return document.activeElement.innerText").asString())
          .isEqualTo("Take away …");
      lease.verify();
    }
  }

  @Test
  void offersNoForcedReleaseUnlessBothPropertiesAllowIt() throws Exception {
    for (String[] one : new String[][] {{}, {FORCE_RELEASE[0]}, {FORCE_RELEASE[1]}}) {
      try (ConfigurableApplicationContext context = start(one);
          Lease lease = locks(context).get("orders/42").tryLock().orElseThrow()) {
        chromium.open(page(context));
        chromium.awaitText("orders/42");

        assertThat(chromium.count(BUTTON)).isZero();
        assertThat(chromium.text()).doesNotContain("By force");
        lease.verify();
      }
    }
  }

  @Test
  void takesALockFromItsHolderWithTheTokenThatWasTypedAndNoOther() throws Exception {
    try (ConfigurableApplicationContext context = start(FORCE_RELEASE)) {
      DistributedLock lock = locks(context).get("orders/4 2?");
      Lease lease = lock.tryLock().orElseThrow();
      chromium.open(page(context));
      chromium.awaitText("orders/4 2?");
      chromium.click(BUTTON);

      chromium.click("#release-confirm");
      assertThat(chromium.count("dialog[open]")).as("without a token").isEqualTo(1);
      lease.verify();

      chromium.type("#release-token", Long.toString(lease.token() + 5_000));
      chromium.click("#release-confirm");
      chromium.awaitText("Nothing was taken away");
      lease.verify();

      chromium.click("#release-cancel");
      assertThat(chromium.count("dialog[open]")).isZero();
      lease.verify();

      chromium.click(BUTTON);
      chromium.type("#release-token", Long.toString(lease.token()));
      chromium.click("#release-confirm");
      chromium.awaitText("None.");
      assertThat(lock.inspect()).isEmpty();
      assertThatThrownBy(lease::verify).isInstanceOf(LockLostException.class);
    }
  }

  @Test
  void isServedWhereTheActuatorIs() throws Exception {
    try (ConfigurableApplicationContext context = start(
            "management.server.port=0",
            "management.endpoints.web.base-path=/inside/manage",
            "management.endpoints.web.path-mapping.locks=who-holds-what");
        Lease lease = locks(context).get("orders/42").tryLock().orElseThrow()) {
      String management = "http://localhost:"
          + context.getEnvironment().getRequiredProperty("local.management.port")
          + "/inside/manage/who-holds-what/page";
      chromium.open(management);

      chromium.awaitText("orders/42");
      assertThat(status(page(context))).isEqualTo(404);
      lease.verify();
    }
  }

  @Test
  void isNotShownWithinAFrame() throws Exception {
    HttpServer thief =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    try (ConfigurableApplicationContext context = start(FORCE_RELEASE);
        Lease lease = locks(context).get("orders/42").tryLock().orElseThrow()) {
      byte[] site =
          ("<iframe src='" + page(context) + "'></iframe>").getBytes(StandardCharsets.UTF_8);
      thief.createContext("/", exchange -> {
        exchange.getResponseHeaders().set("Content-Type", "text/html");
        exchange.sendResponseHeaders(200, site.length);
        exchange.getResponseBody().write(site);
        exchange.close();
      });
      thief.start();
      chromium.open("http://localhost:" + thief.getAddress().getPort() + "/");
      chromium.enterFrame();

      chromium.awaitText("This page is not shown within a frame.");
      assertThat(chromium.count("button")).isZero();
      lease.verify();
    } finally {
      chromium.leaveFrame();
      thief.stop(0);
    }
  }

  /** The picture in docs/integrations: copy it there from target when the page has changed. */
  @Test
  void looksAsInTheDocumentation() throws Exception {
    try (ConfigurableApplicationContext context =
            start("holdfast.ttl=6s", "holdfast.store-timeout=1s");
        LockClient other = other(context)) {
      Lease lost = locks(context).get("invoices/2026-11").tryLock().orElseThrow();
      assertThat(other.get("invoices/2026-11").forceRelease(lost.token())).isTrue();
      CompletableFuture<Void> waiter;
      try (Lease order = locks(context).get("orders/42").tryLock().orElseThrow();
          Lease report = other.get("reports/daily").tryLock().orElseThrow()) {
        waiter = waitsFor(other.get("orders/42"));
        chromium.open(page(context));
        Await.until(
            "all of it",
            () -> chromium.count("#losses tbody tr") == 1 && cells(1).get(5).equals("1"));

        for (String scheme : List.of("dark", "light")) {
          prefer(scheme);
          Path picture = Path.of("target", "locks-page-" + scheme + ".png");
          ImageIO.write(chromium.screenshot(), "png", picture.toFile());
          assertThat(picture.toFile()).isNotEmpty();
          assertThat(contrast()).as(scheme).isGreaterThan(4.5);
        }
        order.verify();
        report.verify();
      }
      waiter.join();
    }
  }

  private static void prefer(String scheme) throws IOException, InterruptedException {
    chromium.tool(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
  }

  /** Returns the lowest contrast between a text and what it stands on, as WCAG reckons it. */
  private static double contrast() throws IOException, InterruptedException {
    return chromium.run("""
        const light = text => {
          const parts = text.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
              .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
          return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const ground = element => {
          const colour = getComputedStyle(element).backgroundColor;
          return colour === 'rgba(0, 0, 0, 0)' ? ground(element.parentElement) : colour;
        };
        document.getElementById('failure').hidden = false;
        const all = [...document.querySelectorAll('h1, h2, p, td, th, label, button')].map(element => {
          const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        });
        document.getElementById('failure').hidden = true;
        return Math.min(...all);
        """).asDouble();
  }

  /** Returns the texts of a row of the locks, the first being 1. */
  private static List<String> cells(int row) throws IOException, InterruptedException {
    return List.of(chromium
        .run(
            "const row = document.querySelectorAll('#locks tbody tr')[arguments[0] - 1];"
                + " return row ? [...row.cells].map(cell => cell.innerText).join('\\t') : ''"
                + " + '\\t'.repeat(5)",
            row)
        .asString()
        .split("\t", -1));
  }

  private int status(String address) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(URI.create(address)).build(),
            HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  private static String page(ConfigurableApplicationContext context) {
    int port = ((WebServerApplicationContext) context).getWebServer().getPort();
    return "http://localhost:" + port + "/actuator/locks/page";
  }

  private static LockClient locks(ConfigurableApplicationContext context) {
    return context.getBean(LockClient.class);
  }

  /** Returns a client of the same store, as another process has it. */
  private static LockClient other(ConfigurableApplicationContext context) {
    return JdbcLocks.builder(context.getBean(DataSource.class))
        .clientName("office")
        .build();
  }

  /** Begins to wait for a lock, and gives it back at once. */
  private static CompletableFuture<Void> waitsFor(DistributedLock lock) {
    return CompletableFuture.runAsync(() -> {
      try {
        lock.lockWithin(Duration.ofSeconds(50)).close();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
  }

  private static ConfigurableApplicationContext start(String... more) {
    return start(App.class, more);
  }

  private static ConfigurableApplicationContext start(Class<?> app, String... more) {
    return new SpringApplicationBuilder(app)
        .properties(
            "server.port=0",
            "spring.application.name=shop",
            "spring.datasource.url=" + Runners.url("page" + DATABASES.incrementAndGet()),
            "management.endpoints.web.exposure.include=health,locks",
            "management.health.redis.enabled=false",
            "spring.flyway.enabled=false",
            "spring.liquibase.enabled=false",
            "holdfast.store=jdbc",
            "holdfast.actuator.page=true")
        .properties(more)
        .run();
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class App {}

  /** An application whose client is a bean of its own, of a store that knows little. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Own {
    static final class Store {
      final AtomicInteger asked = new AtomicInteger();
      volatile boolean isBroken;

      List<HeldLock> list() {
        asked.incrementAndGet();
        if (isBroken) {
          throw new LockStoreException("reports/1", "the store is broken", null);
        }
        return List.of(new Held("reports/1", Long.MAX_VALUE, 0, "<b>nobody</b>"));
      }
    }

    @Bean
    Store store() {
      return new Store();
    }

    @Bean
    LockClient locksOfOurOwn(Store store) {
      return (LockClient) Proxy.newProxyInstance(
          LockClient.class.getClassLoader(),
          new Class<?>[] {LockClient.class},
          (proxy, method, arguments) -> switch (method.getName()) {
            case "list" -> store.list();
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            default -> null;
          });
    }
  }

  record Held(String name, long token, int permit, String description) implements HeldLock {
    @Override
    public Instant since() {
      return Instant.EPOCH;
    }

    @Override
    public Duration remaining() {
      return Duration.ofSeconds(3602, 40_000_000);
    }

    @Override
    public boolean isReleased() {
      return false;
    }

    @Override
    public OptionalInt waiting() {
      return OptionalInt.empty();
    }
  }
}
