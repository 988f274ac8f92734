package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The meters of each group of names, in each mode that they are asked for in. */
final class Groups {
  private static final Logger log = LoggerFactory.getLogger(LockMetrics.class);

  /** The most groups: a function that returns the name itself must not make a series of each. */
  static final int GROUPS_MAX = 100;

  static final String OTHER = "other";

  private final MeterRegistry registry;
  private final Tags tags;
  private final Function<? super String, String> groupOfName;
  private final Map<Series, GroupMeters> meters = new ConcurrentHashMap<>();
  private final Set<String> groups = new HashSet<>();

  /** The locks that are counted together. */
  private record Series(String group, LockListener.Mode mode) {}

  Groups(
      MeterRegistry registry,
      String client,
      String store,
      Function<? super String, String> groupOfName) {
    this.registry = registry;
    this.tags = Tags.of("client", client, "store", store);
    this.groupOfName = groupOfName;
  }

  GroupMeters of(LockListener.LockEvent event) {
    String group = groupOfName.apply(event.lockName());
    if (group == null || group.isBlank()) {
      throw new IllegalArgumentException("The function for the tag group returned '" + group
          + "' for lock '" + event.lockName() + "'");
    }
    GroupMeters known = meters.get(new Series(group, event.mode()));
    return known == null ? add(group, event.mode()) : known;
  }

  private synchronized GroupMeters add(String group, LockListener.Mode mode) {
    boolean counted = groups.size() < GROUPS_MAX || groups.contains(group);
    if (groups.add(counted ? group : OTHER) && !counted) {
      log.warn(
          "There are more than {} groups of lock names, '{}' is one more: this one and all that"
              + " follow are counted as '{}'. Is the group a name?",
          GROUPS_MAX,
          group,
          OTHER);
    }
    return meters.computeIfAbsent(new Series(counted ? group : OTHER, mode), this::register);
  }

  private GroupMeters register(Series series) {
    return new GroupMeters(registry, series.group(), series.mode(), tags);
  }
}
