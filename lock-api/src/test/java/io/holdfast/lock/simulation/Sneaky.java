package io.holdfast.lock.simulation;

/** Throws what the compiler would have declared, as code in other languages can. */
public final class Sneaky {
  private Sneaky() {}

  /** Throws it; returns nothing, for use after {@code throw}. */
  public static RuntimeException thrown(Throwable throwable) {
    throw Sneaky.<RuntimeException>as(throwable);
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <X extends Throwable> X as(Throwable throwable) throws X {
    throw (X) throwable;
  }
}
