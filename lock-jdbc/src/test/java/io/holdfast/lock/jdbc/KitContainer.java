package io.holdfast.lock.jdbc;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Database;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.util.Arrays;

/**
 * A database server in a container of its own, with the server's own defaults of durability.
 *
 * @param database the server
 * @param identityColumn the column that numbers the entries of a log
 */
record KitContainer(Database database, String identityColumn) implements KitServer {
  private static final String AUTO_INCREMENT = "id BIGINT AUTO_INCREMENT PRIMARY KEY";
  private static final String IDENTITY = "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";

  /** With options of the server beside the kit's. */
  static KitContainer mySql(String... options) {
    return new KitContainer(Database.mySql(command(options)), AUTO_INCREMENT);
  }

  /** With options of the server beside the kit's. */
  static KitContainer mariaDb(String... options) {
    return new KitContainer(Database.mariaDb(command(options)), AUTO_INCREMENT);
  }

  static KitContainer mariaDbByMySqlDriver() {
    return new KitContainer(Database.mariaDb(command()).byMySqlDriver(), AUTO_INCREMENT);
  }

  private static String[] command(String... options) {
    String[] command = Arrays.copyOf(options, options.length + 1);
    command[options.length] = "--max-connections=500";
    return command;
  }

  static KitContainer postgres() {
    return new KitContainer(Database.postgres("postgres", "-c", "max_connections=500"), IDENTITY);
  }

  /** A streaming standby; the primary must let it replicate. */
  static KitContainer postgresStandby(KitContainer primary) {
    String data = "/var/lib/postgresql/data";
    String asPostgres = "setpriv --reuid=postgres --regid=postgres --init-groups ";
    ServerContainer server = ServerContainer.start(
        Image.POSTGRES.readyWhenLogged(Image.POSTGRES.readyLog()),
        "bash",
        "-c",
        "install -d -o postgres -g postgres -m 700 /var/run/postgresql " + data + " && "
            + asPostgres
            + "env PGPASSWORD=" + Image.PASSWORD
            + " pg_basebackup -h " + primary.server().addressInside()
            + " -U postgres -R -X stream -c fast -D " + data
            + " && exec " + asPostgres + "postgres -c max_connections=500 -D " + data);
    return new KitContainer(Database.postgres(server), IDENTITY);
  }

  ServerContainer server() {
    return database.server();
  }

  @Override
  public String url() {
    return database.url();
  }

  @Override
  public String url(FaultProxy proxy) {
    return database.url(proxy);
  }

  @Override
  public FaultProxy openProxy() {
    return server().openProxy();
  }

  @Override
  public String user() {
    return database.user();
  }

  @Override
  public String password() {
    return Image.PASSWORD;
  }

  /** Has PostgreSQL end in order: at once, and not before its standby has everything. */
  void shutDown() {
    server().signal("INT");
    Await.until("the server has ended", () -> !server().isRunning());
  }

  @Override
  public void close() {
    database.close();
  }
}
