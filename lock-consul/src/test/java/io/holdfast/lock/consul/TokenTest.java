package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import okhttp3.OkHttpClient;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A token that no request can carry is refused at once, and shown to nobody. */
class TokenTest {
  private static final String ADDRESS = "http://localhost:8500";

  @ParameterizedTest
  @ValueSource(strings = {"s3cret\n", "s3 cret", "s3cret\u00e9"})
  void aTokenThatIsNotPrintableIsRefusedWithoutItsText(String token) {
    assertThatThrownBy(() -> ConsulLocks.builder(new OkHttpClient(), ADDRESS).token(token))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("ACL token")
        .hasMessageNotContaining("s3");
  }
}
