package io.holdfast.lock.examples.tickets;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The ticket sale that {@code dev/demo} runs, on H2. */
@Tag("nightly")
class TicketSaleTest {

  @Test
  @Timeout(value = 180, unit = TimeUnit.SECONDS) // Nine JVMs on a busy machine.
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "there is no SIGSTOP")
  void everyActShowsWhatItIsToShow() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    boolean shown;
    try (H2Server server = H2Server.start();
        Staff staff = new Staff(server.database())) {
      shown = TicketSale.play(
          server.database(), staff, new PrintStream(bytes, true, StandardCharsets.UTF_8));
    }
    String told = bytes.toString(StandardCharsets.UTF_8);
    assertThat(shown).as(told).isTrue();
    assertThat(told)
        .contains("100 tickets were sold for 100 seats")
        .contains("the stale write was refused by the guard; without a guard it went through");
  }
}
