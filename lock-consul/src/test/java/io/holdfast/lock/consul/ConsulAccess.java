package io.holdfast.lock.consul;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import okhttp3.OkHttpClient;

/** Access to a Consul agent for the kit. */
class ConsulAccess implements StoreAccess {
  private final OkHttpClient client = new OkHttpClient();
  private final String address;

  ConsulAccess(String address) {
    this.address = address;
  }

  String address() {
    return address;
  }

  OkHttpClient client() {
    return client;
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return ConsulLocks.builder(client, address);
  }

  @Override
  public GuardedWrites guardedWrites() {
    return new ConsulGuardedWrites(address);
  }

  @Override
  public void close() {
    client.connectionPool().evictAll();
  }
}
