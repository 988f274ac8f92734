package io.holdfast.lock.injection;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Something that users do with a client, from beginning to end. */
record LifeCycle(String name, Set<Trait> traits, Play play) {
  /** Does it, on a user's thread called "caller"; it can throw what the engine throws. */
  interface Play {
    void run(World world) throws Exception;
  }

  /** A property that the checks have to know of. */
  enum Trait {
    /** The lease can be lost though nothing fails. */
    LOSES,
    /** The client is closed at the end. */
    CLOSES,
    /** Callbacks run on an executor of the user's. */
    HAS_EXECUTOR
  }

  LifeCycle(String name, Play play, Trait... traits) {
    this(name, setOf(traits), play);
  }

  private static Set<Trait> setOf(Trait... traits) {
    Set<Trait> set = EnumSet.noneOf(Trait.class);
    set.addAll(List.of(traits));
    return set;
  }

  boolean is(Trait trait) {
    return traits.contains(trait);
  }

  @Override
  public String toString() {
    return name;
  }
}
