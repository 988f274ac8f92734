package io.holdfast.lock.internal.event;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The events of Flight Recorder. They cost nothing while no recording asks for them. */
public final class JfrEvents {
  private JfrEvents() {}

  @Name("io.holdfast.lock.Acquire")
  @Label("Lock Acquire")
  @Description("From the call to its end, with a lease or without")
  @Category("Holdfast")
  public static final class Acquire extends Event {
    @Label("Lock")
    public String lock = "";

    @Label("Token")
    @Description("0 if there is no lease")
    public long token;

    @Label("Outcome")
    @Description("STORE, LOCAL_HAND_OFF, REENTRANT, TAKEN, or the name of an exception")
    public String outcome = "";
  }

  @Name("io.holdfast.lock.Hold")
  @Label("Lock Hold")
  @Description("From the lease to its close or loss")
  @Category("Holdfast")
  @StackTrace(false)
  public static final class Held extends Event {
    @Label("Lock")
    public String lock = "";

    @Label("Token")
    public long token;

    @Label("Released")
    @Description("Whether its holder closed it in time")
    public boolean released;
  }

  @Name("io.holdfast.lock.Renewal")
  @Label("Lock Renewal")
  @Description("One request that renews a group of leases")
  @Category("Holdfast")
  @StackTrace(false)
  public static final class Renewed extends Event {
    @Label("Leases")
    public int leases;

    @Label("Confirmed")
    public int confirmed;

    @Label("Lost")
    public int lost;

    @Label("Unanswered")
    public int unanswered;
  }

  @Name("io.holdfast.lock.Loss")
  @Label("Lock Loss")
  @Category("Holdfast")
  @StackTrace(false)
  public static final class Lost extends Event {
    @Label("Lock")
    public String lock = "";

    @Label("Token")
    public long token;

    @Label("Reason")
    public String reason = "";
  }
}
