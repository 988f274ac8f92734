package io.holdfast.lock.zookeeper;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The sizes of maps and collections that our own objects keep, by the field. */
final class Entries {
  private static final String OURS = "io.holdfast.";

  private final Map<String, Integer> counts = new TreeMap<>();
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  private Entries() {}

  /** Of all objects of ours that can be reached from this one by fields of ours. */
  static Map<String, Integer> reachableFrom(Object root) throws IllegalAccessException {
    Entries entries = new Entries();
    entries.visit(root);
    return entries.counts;
  }

  private void visit(Object object) throws IllegalAccessException {
    if (object == null || !object.getClass().getName().startsWith(OURS) || !seen.add(object)) {
      return;
    }
    for (Class<?> type = object.getClass(); type != Object.class; type = type.getSuperclass()) {
      if (!type.getName().startsWith(OURS)) {
        continue;
      }
      for (Field field : type.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
          field.setAccessible(true);
          visit(type.getSimpleName() + "." + field.getName(), field.get(object));
        }
      }
    }
  }

  private void visit(String name, Object value) throws IllegalAccessException {
    if (value instanceof Map<?, ?> map) {
      count(name, map.values());
    } else if (value instanceof Collection<?> collection) {
      count(name, collection);
    } else {
      visit(value);
    }
  }

  private void count(String name, Collection<?> elements) throws IllegalAccessException {
    counts.merge(name, elements.size(), Integer::sum);
    for (Object element : elements.toArray()) {
      visit(element);
    }
  }
}
