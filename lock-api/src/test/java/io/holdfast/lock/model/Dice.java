package io.holdfast.lock.model;

/**
 * The numbers of one step, all made from one: so a step stays what it is if others are left out.
 */
final class Dice {
  private long state;

  /** Begins anew. */
  Dice of(long seed) {
    state = seed;
    return this;
  }

  /** SplitMix64. */
  long next() {
    state += 0x9E3779B97F4A7C15L;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** From zero to below that. */
  int below(int bound) {
    return (int) (((next() >>> 33) * bound) >>> 31);
  }

  /** True one time of so many. */
  boolean oneIn(int n) {
    return below(n) == 0;
  }

  /** Up to that; of every order of magnitude down to a millionth of it alike. */
  long upTo(long max) {
    long x = next();
    long magnitude = max >> (int) (((x >>> 58) * 20) >>> 6);
    double part = (x & 0xFFFFFF) / (double) 0x1000000;
    return magnitude - (long) (magnitude * part / 2);
  }

  /** A part of it. */
  long partOf(long max) {
    return (long) (max * ((next() >>> 11) / (double) (1L << 53)));
  }
}
