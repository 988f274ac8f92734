package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.Worker;
import io.holdfast.lock.bench.scenario.Scenario;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A way to lock that is measured.
 *
 * @param id its name on command lines and in the JSON, within its store
 * @param label its name for readers
 * @param library one of its classes, whose jar gives the version
 * @param scenarios the scenarios in which it takes part; a candidate that cannot wait is in none
 *     that needs waiting
 * @param program the program of its JVMs
 */
public record Candidate(
    String id,
    String label,
    Role role,
    Class<?> library,
    Set<Scenario> scenarios,
    Client.Opener opener,
    Program program) {

  /**
   * The program of a candidate's JVMs: a {@link Worker}, of this build or of another.
   *
   * @param candidate the id by which that build knows the candidate
   */
  public record Program(String classPath, String candidate) {}

  public enum Role {
    /** The fewest requests that can do the job, with the bare driver; not a lock for production. */
    FLOOR,
    HOLDFAST,
    PEER,
    /**
     * A peer whose lock belongs to a connection: nothing is written, and the lock ends with the
     * connection.
     */
    SESSION
  }

  public static Candidate of(
      String id,
      String label,
      Role role,
      Class<?> library,
      Set<Scenario> scenarios,
      Client.Opener opener) {
    Program program = new Program(System.getProperty("java.class.path"), id);
    return new Candidate(id, label, role, library, scenarios, opener, program);
  }

  static Candidate floor(
      String id, String what, Class<?> library, Set<Scenario> scenarios, Client.Opener opener) {
    return of(id, "floor: " + what, Role.FLOOR, library, scenarios, opener);
  }

  static Candidate peer(
      String id, String label, Class<?> library, Set<Scenario> scenarios, Client.Opener opener) {
    return of(id, label, Role.PEER, library, scenarios, opener);
  }

  static List<Candidate> list(
      List<Candidate> floors, List<Candidate> holdfast, Candidate... peers) {
    return Stream.of(floors, holdfast, List.of(peers)).flatMap(List::stream).toList();
  }

  /** Returns this candidate as another build has it, as a peer of this build's. */
  Candidate before(String classPath) {
    return new Candidate(
        id + "-before",
        label + ", before",
        Role.PEER,
        library,
        scenarios,
        opener,
        new Program(classPath, program.candidate()));
  }

  /** Returns the jar's name, including the version. */
  public String version() {
    String path = library.getProtectionDomain().getCodeSource().getLocation().getPath();
    String file = path.substring(path.lastIndexOf('/', path.length() - 2) + 1);
    return file.endsWith(".jar") ? file.substring(0, file.length() - 4) : "this source";
  }
}
