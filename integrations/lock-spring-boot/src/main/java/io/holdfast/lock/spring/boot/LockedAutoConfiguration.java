package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClient;
import io.holdfast.lock.spring.EnableHoldfastLocks;
import io.holdfast.lock.spring.HoldfastLocksConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;

/**
 * Auto-configuration of the annotation {@code @Locked}, if {@code lock-spring} is there. An
 * application that has {@link EnableHoldfastLocks} itself, to set its attributes, keeps its own.
 */
@AutoConfiguration(after = LockAutoConfiguration.class)
@ConditionalOnClass(EnableHoldfastLocks.class)
@ConditionalOnBean(LockClient.class)
@ConditionalOnMissingBean(HoldfastLocksConfiguration.class)
@ConditionalOnProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableHoldfastLocks
public final class LockedAutoConfiguration {
  LockedAutoConfiguration() {}
}
