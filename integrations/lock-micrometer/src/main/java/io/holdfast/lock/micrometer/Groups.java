package io.holdfast.lock.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The meters of each group of names. */
final class Groups {
  private static final Logger log = LoggerFactory.getLogger(LockMetrics.class);

  /** The most groups: a function that returns the name itself must not make a series of each. */
  static final int GROUPS_MAX = 100;

  static final String OTHER = "other";

  private final MeterRegistry registry;
  private final Tags tags;
  private final Function<? super String, String> groupOfName;
  private final Map<String, GroupMeters> meters = new ConcurrentHashMap<>();

  Groups(
      MeterRegistry registry,
      String client,
      String store,
      Function<? super String, String> groupOfName) {
    this.registry = registry;
    this.tags = Tags.of("client", client, "store", store);
    this.groupOfName = groupOfName;
  }

  GroupMeters of(String lockName) {
    String group = groupOfName.apply(lockName);
    if (group == null || group.isBlank()) {
      throw new IllegalArgumentException(
          "The function for the tag group returned '" + group + "' for lock '" + lockName + "'");
    }
    GroupMeters known = meters.get(group);
    return known == null ? add(group) : known;
  }

  private synchronized GroupMeters add(String group) {
    if (meters.size() < GROUPS_MAX || meters.containsKey(group)) {
      return meters.computeIfAbsent(group, this::register);
    }
    GroupMeters other = meters.get(OTHER);
    if (other == null) {
      log.warn(
          "There are more than {} groups of lock names, '{}' is one more: this one and all that"
              + " follow are counted as '{}'. Is the group a name?",
          GROUPS_MAX,
          group,
          OTHER);
      other = register(OTHER);
      meters.put(OTHER, other);
    }
    return other;
  }

  private GroupMeters register(String group) {
    return new GroupMeters(registry, group, tags.and("group", group));
  }
}
