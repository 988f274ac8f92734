package io.holdfast.lock.examples.tickets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.SchemaMode;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Checks that no seller outlives the demo. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "there is no SIGSTOP")
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StaffTest {
  private final List<Order> orders = List.of(
      Order.of(Order.Role.WITHOUT_LOCK, "seller-1", "sale"),
      Order.of(Order.Role.WITH_LOCK, "seller-2", "sale"));

  private H2Server server;

  @BeforeEach
  void open() throws Exception {
    server = H2Server.start();
    try (HikariDataSource dataSource = server.database().connect()) {
      BoxOffice.createTables(dataSource);
      try (Locks locks = Locks.open(server.database(), dataSource, "parent", SchemaMode.CREATE)) {
        assertThat(locks.client().get("sale/sale").inspect()).isEmpty();
      }
    }
  }

  @AfterEach
  void close() throws Exception {
    server.close();
  }

  @Test
  void allEndWhenTheStaffIsClosedEvenAFrozenOne() throws Exception {
    List<Child> children;
    try (Staff staff = new Staff(server.database())) {
      children = staff.start(orders);
      children.get(0).freeze();
      assertThat(children).allMatch(Child::isAlive);
    }
    assertThat(children).noneMatch(Child::isAlive);
  }

  @Test
  void nobodyStartsAfterTheEnd() throws Exception {
    Staff staff = new Staff(server.database());
    staff.close();
    assertThatThrownBy(() -> staff.start(orders)).isInstanceOf(DemoFailure.class);
  }

  @Test
  void aSellerEndsWithItsParent() throws Exception {
    try (Staff staff = new Staff(server.database())) {
      Child child = staff.start(orders.subList(0, 1)).get(0);
      child.begin();
      child.hangUp();
      assertThatThrownBy(() -> child.await(Word.LOST, java.time.Duration.ofSeconds(30)))
          .hasMessageContaining("ended");
    }
  }
}
