package io.holdfast.lock.examples.shop;

import io.holdfast.lock.spring.boot.LockGroup;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** The application. */
@SpringBootApplication(proxyBeanMethods = false)
class Shop {
  public static void main(String[] args) {
    SpringApplication.run(Shop.class, args);
  }

  /** The locks of all events are one group of the meters: tickets/rock-night is in tickets. */
  @Bean
  LockGroup group() {
    return name -> name.substring(0, name.indexOf('/'));
  }
}
