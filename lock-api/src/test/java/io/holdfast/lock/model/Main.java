package io.holdfast.lock.model;

/**
 * Plays episodes from the command line: {@code Main SEED COUNT}, or {@code Main SEED} to be told
 * one.
 */
final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    long first = Long.parseLong(arguments[0]);
    if (arguments.length == 1) {
      System.out.println(new Script().told(first));
      return;
    }
    long count = Long.parseLong(arguments[1]);
    long began = System.nanoTime();
    Script script = new Script();
    int broken = 0;
    for (long seed = first; seed < first + count && broken < 20; seed++) {
      Broken found = script.run(seed);
      if (found != null) {
        System.out.println("seed " + seed + ": " + found.getMessage());
        broken++;
      }
    }
    System.out.printf(
        "%d episodes, %d broken, %d steps, %.1f s%n%s%n",
        count, broken, script.steps(), (System.nanoTime() - began) / 1e9, Seen.counts());
    System.exit(broken == 0 ? 0 : 1);
  }
}
