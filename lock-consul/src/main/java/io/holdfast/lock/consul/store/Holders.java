package io.holdfast.lock.consul.store;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The holders of locks, of whatever client, as administrators see and end them. */
final class Holders {
  private final ConsulHttp http;
  private final Keys keys;
  private final LineCleanup lines;

  /** @param lines reads the lines */
  Holders(ConsulHttp http, Keys keys, LineCleanup lines) {
    this.http = http;
    this.keys = keys;
    this.lines = lines;
  }

  Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Line line = lines.read(key, http.deadline());
    return line.inside().stream().findFirst().map(first -> lines.holder(first, line));
  }

  List<StoredHolder> readers(LockKey key) throws StoreException {
    Line line = lines.read(key, http.deadline());
    return line.readers().stream().map(reader -> lines.holder(reader, line)).toList();
  }

  /** Lists the names first, and reads lines until there are enough locks: Consul has no pages. */
  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = http.deadline();
    List<String> folders = http.keys(keys.lines(kind, namePrefix), deadline).stream()
        .filter(folder -> keys.lock(kind, folder)
            .filter(lock -> lock.name().startsWith(namePrefix))
            .isPresent())
        .toList();
    List<StoredLock> held = new ArrayList<>();
    for (List<String> some :
        Transaction.parts(folders, Math.min(limit, Transaction.OPERATIONS_MAX))) {
      if (held.size() < limit) {
        lines
            .read(some, deadline)
            .forEach((folder, line) -> keys.lock(kind, folder)
                .filter(lock -> !line.isEmpty())
                .ifPresent(lock -> held.add(stored(lock, line))));
      }
    }
    return held.stream().limit(limit).toList();
  }

  private StoredLock stored(LockKey lock, Line line) {
    int waiting = line.places().size() - line.inside().size();
    return new StoredLock(lock, lines.holder(line.first(), line), OptionalInt.of(waiting));
  }

  boolean forceRelease(LockKey key, long number) throws StoreException {
    Deadline deadline = http.deadline();
    while (true) {
      Line line = lines.read(key, deadline);
      Line.Place place = line.holder(number);
      if (place == null) {
        if (line.isAmbiguous(number)) {
          throw StoreException.refused(
              "That token no longer tells which lease is meant, since a session has ended: give the"
                  + " one that inspect() shows for the holder "
                  + line.first().mark().holder(),
              null);
        }
        return false;
      }
      Transaction force = new Transaction();
      place.addEndTo(force);
      if (place.hasSession()) {
        // With the number, so that the value is new: the same one again would change no index.
        force.lock(
            keys.watched(place.entry().session()),
            "taken by force: " + place.entry().key() + " " + number,
            place.entry().session());
      }
      Outcome outcome = http.transact(force, deadline);
      if (outcome.isApplied()) {
        return true;
      }
      // The key has changed meanwhile.
      if (outcome.resent()) {
        throw StoreException.unanswered("Consul did not answer the first time", null);
      }
    }
  }
}
