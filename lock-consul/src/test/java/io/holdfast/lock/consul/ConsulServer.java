package io.holdfast.lock.consul;

import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;

/** Consul servers in containers. */
final class ConsulServer {
  private ConsulServer() {}

  /** One for all tests of this JVM that break nothing. */
  static ServerContainer shared() {
    ServerContainer.assumeDocker();
    return Shared.SERVER;
  }

  private static final class Shared {
    static final ServerContainer SERVER = start();
  }

  /** Starts one with more options of the agent. */
  static ServerContainer start(String... more) {
    return startWithToken("", more);
  }

  /** Starts one with an ACL token with which sessions can be created. */
  static ServerContainer startWithToken(String token, String... more) {
    ServerContainer server = ServerContainer.start(Image.CONSUL, more);
    boolean ready = false;
    try {
      new TestHttp(address(server), token).awaitSessions();
      ready = true;
    } finally {
      if (!ready) {
        server.close();
      }
    }
    return server;
  }

  static String address(ServerContainer server) {
    return "http://" + server.address();
  }
}
