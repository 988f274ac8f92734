package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.fault.Ports;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * A database server in a container of its own, with the server's own defaults of durability, at a
 * port that it keeps when it is killed and started again.
 */
final class KitContainer implements KitServer {
  private static final String PASSWORD = "holdfast";
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);

  private final GenericContainer<?> container;
  private final int port;
  private final String urlPattern;
  private final String user;
  private final String identityColumn;
  private boolean paused;

  private KitContainer(
      String image,
      int serverPort,
      String readyLog,
      int readyTimes,
      Map<String, String> environment,
      String[] command,
      String urlPattern,
      String user,
      String identityColumn) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    this.port = Ports.free();
    this.urlPattern = urlPattern;
    this.user = user;
    this.identityColumn = identityColumn;
    this.container = new GenericContainer<>(image)
        .withExposedPorts(serverPort)
        .withEnv(environment)
        .withCommand(command)
        .waitingFor(Wait.forLogMessage(readyLog, readyTimes).withStartupTimeout(STARTUP_MAX));
    container.setPortBindings(List.of(port + ":" + serverPort));
    container.start();
  }

  /** With options of the server beside the kit's. */
  static KitContainer mySql(String... options) {
    return new KitContainer(
        "mysql:9",
        3306,
        ".*ready for connections.*port: 3306.*",
        1,
        Map.of("MYSQL_ROOT_PASSWORD", PASSWORD, "MYSQL_DATABASE", "holdfast"),
        command(options),
        "jdbc:mysql://%s:%d/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true",
        "root",
        "id BIGINT AUTO_INCREMENT PRIMARY KEY");
  }

  /** With options of the server beside the kit's. */
  static KitContainer mariaDb(String... options) {
    return mariaDbAt("jdbc:mariadb://%s:%d/holdfast", options);
  }

  static KitContainer mariaDbByMySqlDriver() {
    return mariaDbAt("jdbc:mysql://%s:%d/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true");
  }

  private static KitContainer mariaDbAt(String urlPattern, String... options) {
    return new KitContainer(
        "mariadb:11.8",
        3306,
        ".*port: 3306.*",
        1,
        Map.of("MARIADB_ROOT_PASSWORD", PASSWORD, "MARIADB_DATABASE", "holdfast"),
        command(options),
        urlPattern,
        "root",
        "id BIGINT AUTO_INCREMENT PRIMARY KEY");
  }

  private static String[] command(String... options) {
    String[] command = Arrays.copyOf(options, options.length + 1);
    command[options.length] = "--max-connections=500";
    return command;
  }

  static KitContainer postgres() {
    // The first line is of the server that makes the accounts.
    return postgres(2, "postgres", "-c", "max_connections=500");
  }

  /** A streaming standby; the primary must let it replicate. */
  static KitContainer postgresStandby(KitContainer primary) {
    String data = "/var/lib/postgresql/data";
    String asPostgres = "setpriv --reuid=postgres --regid=postgres --init-groups ";
    return postgres(
        1,
        "bash",
        "-c",
        "install -d -o postgres -g postgres -m 700 /var/run/postgresql " + data + " && "
            + asPostgres
            + "env PGPASSWORD=" + PASSWORD
            + " pg_basebackup -h " + primary.addressInside()
            + " -U postgres -R -X stream -c fast -D " + data
            + " && exec " + asPostgres + "postgres -c max_connections=500 -D " + data);
  }

  private static KitContainer postgres(int readyTimes, String... command) {
    return new KitContainer(
        "postgres:17",
        5432,
        ".*ready to accept .*connections.*",
        readyTimes,
        Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "holdfast"),
        command,
        "jdbc:postgresql://%s:%d/holdfast",
        "postgres",
        "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY");
  }

  @Override
  public String host() {
    return container.getHost();
  }

  @Override
  public int port() {
    return port;
  }

  @Override
  public String url(String host, int atPort) {
    return String.format(Locale.ROOT, urlPattern, host, atPort);
  }

  @Override
  public String user() {
    return user;
  }

  @Override
  public String password() {
    return PASSWORD;
  }

  @Override
  public String identityColumn() {
    return identityColumn;
  }

  /** The host by which other containers know it. */
  String addressInside() {
    return container.getContainerInfo().getNetworkSettings().getNetworks().values().stream()
        .map(network -> network.getIpAddress())
        .findFirst()
        .orElseThrow();
  }

  /** Runs a command inside. */
  void run(String... command) throws IOException, InterruptedException {
    ExecResult result = container.execInContainer(command);
    if (result.getExitCode() != 0) {
      throw new AssertionError(String.join(" ", command) + ": " + result);
    }
  }

  /** Has PostgreSQL end in order: at once, and not before its standby has everything. */
  void shutDown() {
    container
        .getDockerClient()
        .killContainerCmd(container.getContainerId())
        .withSignal("INT")
        .exec();
    Stores.await("the server has ended", () -> !container.isRunning());
  }

  void pause() {
    Freezer.freeze(container);
    paused = true;
  }

  void resume() {
    if (paused) {
      Freezer.thaw(container);
      paused = false;
    }
  }

  void kill() {
    container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
  }

  void start() {
    if (!container.isRunning()) {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }
  }

  @Override
  public void close() {
    container.close();
  }
}
