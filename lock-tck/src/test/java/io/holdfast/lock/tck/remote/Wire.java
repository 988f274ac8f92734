package io.holdfast.lock.tck.remote;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;

/** The format of requests and answers: their length, and their fields. */
final class Wire {
  private Wire() {}

  /** Writes the fields of a message. */
  interface Body {
    void write(DataOutputStream out) throws IOException, StoreException;
  }

  static byte[] message(Body body) throws IOException, StoreException {
    ByteArrayOutputStream fields = new ByteArrayOutputStream();
    body.write(new DataOutputStream(fields));
    ByteArrayOutputStream message = new ByteArrayOutputStream();
    new DataOutputStream(message).writeInt(fields.size());
    fields.writeTo(message);
    return message.toByteArray();
  }

  static DataInputStream input(byte[] fields) {
    return new DataInputStream(new ByteArrayInputStream(fields));
  }

  static void writeClaim(DataOutputStream out, Claim claim) throws IOException {
    out.writeUTF(claim.key().name());
    out.writeUTF(claim.ownerId());
    out.writeLong(claim.ttl().toNanos());
    out.writeUTF(claim.holder());
  }

  static void writeHolder(DataOutputStream out, StoredHolder holder) throws IOException {
    out.writeLong(holder.number());
    out.writeUTF(holder.description());
    out.writeLong(holder.since().toEpochMilli());
    out.writeLong(holder.remaining().toNanos());
    out.writeBoolean(holder.released());
  }

  static StoredHolder readHolder(DataInputStream in) throws IOException {
    return new StoredHolder(
        in.readLong(),
        in.readUTF(),
        Instant.ofEpochMilli(in.readLong()),
        Duration.ofNanos(in.readLong()),
        in.readBoolean());
  }

  static Claim readClaim(DataInputStream in) throws IOException {
    return new Claim(
        new LockKey(LockKind.MUTEX, in.readUTF()),
        in.readUTF(),
        Duration.ofNanos(in.readLong()),
        Duration.ZERO,
        in.readUTF());
  }
}
