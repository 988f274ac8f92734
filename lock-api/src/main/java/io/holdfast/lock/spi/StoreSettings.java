package io.holdfast.lock.spi;

import java.time.Duration;

/**
 * The settings that a client passes to its store when it opens it.
 *
 * @param clientName the client's name, for threads, connections and sessions
 * @param storeTimeout the longest time that a call to the store may take
 * @param time the clocks to use; if the machine's wall clock is set back, theirs goes on from what
 *     it showed
 * @param events receives the events that the store reports on its own initiative
 */
public record StoreSettings(
    String clientName, Duration storeTimeout, TimeSource time, StoreEvents events) {}
