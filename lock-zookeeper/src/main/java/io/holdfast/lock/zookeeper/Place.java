package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitsDifferException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A node in the line, or a mark. One of a later version has its place in the order, and blocks.
 *
 * @param shared whether it is a reader's
 * @param of the number of permits of which it wants one; 0 if it wants none
 * @param permit the permit that it has, or will have if it can enter; or {@link Names#NO_PERMIT}
 */
record Place(String name, int sequence, boolean shared, int of, int permit) {
  /** The name of a reader's node. */
  private static final Pattern READER = Pattern.compile("[0-9a-f]{32}s\\d{10}");

  /** The name of the node of a claim to a permit, or of a mark of one. */
  private static final Pattern PERMIT = Pattern.compile("(?:[0-9a-f]{32}|"
      + Names.MARK_PREFIX
      + "[0-9a-f]{16})p(\\d{1,4})(?:\\.(\\d{1,4}))?(?:-\\d{10})?");

  /** Makes the place of the node with this name, and this number in the order. */
  static Place named(String name, int sequence) {
    Matcher permit = PERMIT.matcher(name);
    boolean isPermit = permit.matches();
    return new Place(
        name,
        sequence,
        READER.matcher(name).matches(),
        isPermit ? Integer.parseInt(permit.group(1)) : 0,
        isPermit && permit.group(2) != null ? Integer.parseInt(permit.group(2)) : Names.NO_PERMIT);
  }

  /** Whether this one does not keep another of this mode waiting that is behind it. */
  boolean letsIn(Claim.Mode mode) {
    if (mode instanceof Claim.Permit permits) {
      return of == permits.of() && permit != Names.NO_PERMIT;
    }
    return shared && mode instanceof Claim.Shared;
  }

  /** Checks that this one, if it is of a semaphore, knows as many permits as a claim does. */
  void requireEqualPermits(Claim claim) throws PermitsDifferException {
    if (claim.mode() instanceof Claim.Permit permits && of > 0 && of != permits.of()) {
      throw new PermitsDifferException(claim.key(), permits.of(), of);
    }
  }
}
