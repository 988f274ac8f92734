package io.holdfast.lock.examples.tickets;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.SchemaMode;
import java.io.IOException;
import java.util.Objects;

/**
 * A seller in a process of its own. The first line of its standard input is the sign to begin, the
 * next one to hurry. When its input ends, its parent is gone, and it ends as well.
 */
final class SellerProcess {
  private SellerProcess() {}

  public static void main(String[] arguments) throws Exception {
    Order order = Order.parse(arguments);
    Database database =
        Objects.requireNonNull(Database.of(System.getenv()), "no database in the environment");
    try (HikariDataSource dataSource = database.connect();
        Locks locks = Locks.open(database, dataSource, order.name(), SchemaMode.VALIDATE)) {
      Seller seller = new Seller(
          order,
          new BoxOffice(dataSource, order.sale()),
          locks.client().get("sale/" + order.sale()),
          database.locks() == null,
          SellerProcess::tell);
      tell(Word.READY, "");
      awaitStart(seller);
      seller.sellAll();
      tell(Word.DONE, "");
    }
  }

  private static void tell(Word word, Object what) {
    System.out.println((word + " " + what).strip());
  }

  private static void awaitStart(Seller seller) throws IOException {
    if (System.in.read() < 0) {
      Runtime.getRuntime().halt(1);
    }
    Thread watch = new Thread(() -> heedParent(seller), "parent-watch");
    watch.setDaemon(true);
    watch.start();
  }

  private static void heedParent(Seller seller) {
    try {
      while (System.in.read() >= 0) {
        seller.hurry();
      }
    } catch (IOException e) {
      // As good as the end.
    }
    Runtime.getRuntime().halt(1);
  }
}
