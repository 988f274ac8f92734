package io.holdfast.lock.bench.server;

import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link.Direction;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The network between the candidates and a server: proxies that delay everything by half of a round
 * trip in each direction. Each candidate has its own, so that the idle connections of one are not
 * counted as another's.
 */
public final class Network implements AutoCloseable {
  private final BenchServer server;
  private final int rttMillis;
  private final Map<String, FaultProxy> proxies = new HashMap<>();

  /** @param rttMillis the time of a round trip; zero if nothing is to be in between */
  public Network(BenchServer server, int rttMillis) {
    this.server = server;
    this.rttMillis = rttMillis;
  }

  /** Returns the server's address for a candidate. */
  public String url(String candidate) {
    return rttMillis == 0
        ? server.url()
        : server.url(proxies.computeIfAbsent(candidate, any -> open()).port());
  }

  private FaultProxy open() {
    FaultProxy proxy = FaultProxy.open(BenchServer.HOST, server.port());
    Duration oneWay = Duration.ofMillis(rttMillis).dividedBy(2);
    proxy.delay(Direction.REQUESTS, oneWay);
    proxy.delay(Direction.REPLIES, oneWay);
    return proxy;
  }

  /** Returns the number of round trips of a candidate so far, or null if nothing is in between. */
  public @Nullable Long trips(String candidate) {
    FaultProxy proxy = proxies.get(candidate);
    return proxy == null ? null : proxy.requests();
  }

  @Override
  public void close() {
    proxies.values().forEach(FaultProxy::close);
  }
}
