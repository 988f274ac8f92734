package io.holdfast.lock.internal;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** What Flight Recorder is told. Costs nothing while no recording asks for it. */
final class Flight {
  private Flight() {}

  @Name("io.holdfast.lock.Acquire")
  @Label("Lock Acquire")
  @Description("From the call to its end, with a lease or without")
  @Category("Holdfast")
  static final class Acquire extends Event {
    @Label("Lock")
    String lock = "";

    @Label("Token")
    @Description("0 if there is no lease")
    long token;

    @Label("Outcome")
    @Description("STORE, LOCAL_HAND_OFF, REENTRANT, TAKEN, or the name of an exception")
    String outcome = "";
  }

  @Name("io.holdfast.lock.Hold")
  @Label("Lock Hold")
  @Description("From the lease to its close or loss")
  @Category("Holdfast")
  @StackTrace(false)
  static final class Held extends Event {
    @Label("Lock")
    String lock = "";

    @Label("Token")
    long token;

    @Label("Released")
    @Description("Whether its holder closed it in time")
    boolean released;
  }

  @Name("io.holdfast.lock.Renewal")
  @Label("Lock Renewal")
  @Description("One request that renews a group of leases")
  @Category("Holdfast")
  @StackTrace(false)
  static final class Renewed extends Event {
    @Label("Leases")
    int leases;

    @Label("Confirmed")
    int confirmed;

    @Label("Lost")
    int lost;

    @Label("Unanswered")
    int unanswered;
  }

  @Name("io.holdfast.lock.Loss")
  @Label("Lock Loss")
  @Category("Holdfast")
  @StackTrace(false)
  static final class Lost extends Event {
    @Label("Lock")
    String lock = "";

    @Label("Token")
    long token;

    @Label("Reason")
    String reason = "";
  }
}
