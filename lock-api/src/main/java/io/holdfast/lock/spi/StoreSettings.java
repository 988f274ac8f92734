package io.holdfast.lock.spi;

import java.time.Duration;

/**
 * What a client tells its store when it opens it.
 *
 * @param clientName the client's name, for threads, connections and sessions
 * @param storeTimeout what every call to the store takes at most
 * @param time the clock to use
 * @param events where to tell what happens unasked
 */
public record StoreSettings(
    String clientName, Duration storeTimeout, TimeSource time, StoreEvents events) {}
