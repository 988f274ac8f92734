package io.holdfast.lock.examples.tickets;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.SchemaMode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The ticket sale, in three acts. {@code dev/demo} builds and runs it. */
public final class TicketSale {
  private static final int SEATS = 100;

  private TicketSale() {}

  /** The exit status is 0 if every act showed what it should. */
  public static void main(String[] arguments) {
    boolean shown = false;
    try {
      shown = run(System.getenv());
    } catch (SQLException | RuntimeException e) {
      // The driver's own words come last, and say most.
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      System.err.println("demo: the database gave no usable answer: " + cause);
    }
    System.exit(shown ? 0 : 1);
  }

  private static boolean run(Map<String, String> environment) throws SQLException {
    Database elsewhere = Database.of(environment);
    if (elsewhere != null) {
      return run(elsewhere);
    }
    try (H2Server server = H2Server.start()) {
      return run(server.database().withLocksOf(environment));
    }
  }

  /** Runs the sale. Ctrl-C also ends the sellers, and leaves no tables behind. */
  private static boolean run(Database database) throws SQLException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Staff staff = new Staff(database);
    CountDownLatch ended = new CountDownLatch(1);
    Thread end = new Thread(() -> {
      staff.close();
      awaitEnd(ended);
    });
    Runtime.getRuntime().addShutdownHook(end);
    try {
      return play(database, staff, out);
    } finally {
      ended.countDown();
    }
  }

  private static void awaitEnd(CountDownLatch ended) {
    try {
      ended.await(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Act {
    Verdict play(Stage stage) throws Exception;
  }

  /** Returns whether every act showed what it should. */
  static boolean play(Database database, Staff staff, PrintStream out) throws SQLException {
    long beganNanos = System.nanoTime();
    Story story = new Story(out);
    out.println("Holdfast: the ticket sale, on " + database);
    if (database.locks() != null) {
      out.println(
          "The tickets are not where the locks are, so the guard of the third act is the fencing");
      out.println("token: the write is refused if a higher one was there before.");
    }
    List<Verdict> verdicts = new ArrayList<>();
    boolean ended;
    try (HikariDataSource dataSource = database.connect()) {
      BoxOffice.createTables(dataSource);
      try (Locks locks = Locks.open(database, dataSource, "parent", SchemaMode.CREATE)) {
        Stage stage = new Stage(dataSource, locks.client(), staff, story);
        verdicts.add(play(s -> WithoutLock.play(s, SEATS), stage));
        verdicts.add(play(s -> WithLock.play(s, SEATS), stage));
        verdicts.add(play(Frozen::play, stage));
      } finally {
        ended = staff.isClosed();
        staff.close();
        BoxOffice.dropTables(dataSource);
      }
    }
    if (ended) {
      out.println("Ended early. All sellers are gone, and so are the tables.");
      return false;
    }
    story.title("In numbers");
    for (int i = 0; i < verdicts.size(); i++) {
      Verdict verdict = verdicts.get(i);
      story.line(
          "Act %d  %-6s  %s", i + 1, verdict.shown() ? "shown" : "FAILED", verdict.summary());
    }
    story.line("It took %s.", Story.seconds(Duration.ofNanos(System.nanoTime() - beganNanos)));
    return verdicts.stream().allMatch(Verdict::shown);
  }

  private static Verdict play(Act act, Stage stage) {
    if (stage.staff().isClosed()) {
      return new Verdict(false, "the demo was ended");
    }
    try {
      return act.play(stage);
    } catch (DemoFailure e) {
      return new Verdict(false, String.valueOf(e.getMessage()));
    } catch (Exception e) {
      return new Verdict(false, e.toString());
    } finally {
      stage.staff().dismiss();
    }
  }
}
