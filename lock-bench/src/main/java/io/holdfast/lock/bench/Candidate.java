package io.holdfast.lock.bench;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What is measured.
 *
 * @param id names it on command lines and in the JSON, within its store
 * @param label names it for readers
 * @param library a class of it, whose jar tells the version
 * @param scenarios those it takes part in; a candidate that cannot wait is in none where it had to
 */
record Candidate(
    String id,
    String label,
    Role role,
    Class<?> library,
    Set<Scenario> scenarios,
    Client.Opener opener) {

  enum Role {
    /** The fewest requests that can do the job, by the bare driver: not a lock one would want. */
    FLOOR,
    HOLDFAST,
    PEER,
    /** A peer whose lock is a connection: nothing is written, and the lock ends with it. */
    SESSION
  }

  static Candidate floor(
      String id, String what, Class<?> library, Set<Scenario> scenarios, Client.Opener opener) {
    return new Candidate(id, "floor: " + what, Role.FLOOR, library, scenarios, opener);
  }

  static Candidate peer(
      String id, String label, Class<?> library, Set<Scenario> scenarios, Client.Opener opener) {
    return new Candidate(id, label, Role.PEER, library, scenarios, opener);
  }

  static List<Candidate> list(
      List<Candidate> floors, List<Candidate> holdfast, Candidate... peers) {
    return Stream.of(floors, holdfast, List.of(peers)).flatMap(List::stream).toList();
  }

  /** The jar's name, version included. */
  String version() {
    String path = library.getProtectionDomain().getCodeSource().getLocation().getPath();
    String file = path.substring(path.lastIndexOf('/', path.length() - 2) + 1);
    return file.endsWith(".jar") ? file.substring(0, file.length() - 4) : "this source";
  }
}
