package io.holdfast.lock.examples.tickets;

/**
 * The outcome of an act.
 *
 * @param shown whether it showed what it was to show
 * @param summary what came out, in a few words
 */
record Verdict(boolean shown, String summary) {}
