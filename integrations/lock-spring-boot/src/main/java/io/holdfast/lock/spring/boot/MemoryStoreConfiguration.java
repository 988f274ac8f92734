package io.holdfast.lock.spring.boot;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in the memory of this JVM, for tests. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.MEMORY)
class MemoryStoreConfiguration {
  @Bean(LockAutoConfiguration.STORE)
  MemorySource holdfastStore() {
    return new MemorySource();
  }
}
