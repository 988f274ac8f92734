package io.holdfast.lock.examples.tickets;

/**
 * The outcome of an act.
 *
 * @param shown whether it showed what it should
 * @param summary what came out, in a few words
 */
record Verdict(boolean shown, String summary) {}
