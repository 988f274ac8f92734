package io.holdfast.lock.spring.boot;

import okhttp3.OkHttpClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in Consul, with the application's HTTP client if it has exactly one. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.CONSUL)
class ConsulStoreConfiguration {
  @Bean(LockAutoConfiguration.STORE)
  ConsulSource holdfastStore(
      HoldfastProperties properties,
      ObjectProvider<ConsulConnectionDetails> details,
      ObjectProvider<OkHttpClient> client) {
    ConsulConnectionDetails given = details.getIfAvailable();
    String address = given == null ? properties.consul().address() : given.getAddress();
    return new ConsulSource(client.getIfUnique(OkHttpClient::new), address, properties.consul());
  }
}
