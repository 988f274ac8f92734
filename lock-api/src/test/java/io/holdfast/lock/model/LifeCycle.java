package io.holdfast.lock.model;

import java.util.Set;

/** Something that users do with a client, from beginning to end. */
record LifeCycle(Scene.Sort sort, String name, Set<Trait> traits, Play play) {
  /** Does it, on a user's thread called "caller"; it can throw what the engine throws. */
  interface Play {
    void run(Scene scene) throws Exception;
  }

  /** A property that the checks and the set-up have to know of. */
  enum Trait {
    /** The lease can be lost though nothing fails. */
    LOSES,
    /** The client is closed at the end. */
    CLOSES,
    /** Callbacks run on an executor of the user's. */
    HAS_EXECUTOR,
    /** The store gives a released lock to the first in its line. */
    HANDS_OVER
  }

  boolean is(Trait trait) {
    return traits.contains(trait);
  }

  @Override
  public String toString() {
    return sort + ": " + name;
  }
}
