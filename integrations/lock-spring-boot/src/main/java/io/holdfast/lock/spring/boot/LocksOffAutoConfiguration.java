package io.holdfast.lock.spring.boot;

import io.holdfast.lock.spring.EnableHoldfastLocks;
import io.holdfast.lock.spring.HoldfastLocksConfiguration;
import io.holdfast.lock.spring.HoldfastLocksOffConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Import;

/**
 * Auto-configuration of a warning at start about the methods with {@code @Locked}, if nothing has
 * switched locks on: with {@code holdfast.enabled=false}, for example.
 */
@AutoConfiguration(after = LockedAutoConfiguration.class)
@ConditionalOnClass(EnableHoldfastLocks.class)
@ConditionalOnMissingBean(HoldfastLocksConfiguration.class)
@Import(HoldfastLocksOffConfiguration.class)
public final class LocksOffAutoConfiguration {
  LocksOffAutoConfiguration() {}
}
