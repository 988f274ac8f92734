package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.consul.ConsulLocks;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;

/** Consul, through its HTTP interface. */
record ConsulSource(OkHttpClient client, String address, HoldfastProperties.Consul properties)
    implements StoreSource {
  @Override
  public StoreKind kind() {
    return StoreKind.CONSUL;
  }

  @Override
  public LockClientBuilder<?> builder() {
    ConsulLocks.Builder builder = Property.apply(
        "holdfast.consul.address", address, given -> ConsulLocks.builder(client, given));
    builder = Property.apply("holdfast.consul.prefix", properties.prefix(), builder::prefix);
    String token = properties.token();
    return Property.applyIfSet("holdfast.consul.token", token, builder, builder::token);
  }

  @Override
  public String place() {
    HttpUrl url = HttpUrl.get(address);
    return "consul (" + url.host() + ":" + url.port() + ", prefix " + properties.prefix() + ")";
  }

  @Override
  public String whenUnreachable() {
    return "check holdfast.consul.address and holdfast.consul.token";
  }

  @Override
  public String whenUnusable() {
    return "check holdfast.consul.address and holdfast.consul.prefix";
  }
}
