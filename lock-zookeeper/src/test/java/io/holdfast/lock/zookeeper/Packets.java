package io.holdfast.lock.zookeeper;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.MultiOperationRecord;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.proto.CheckVersionRequest;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.ExistsRequest;
import org.apache.zookeeper.proto.GetACLRequest;
import org.apache.zookeeper.proto.GetChildren2Request;
import org.apache.zookeeper.proto.GetChildrenRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.RemoveWatchesRequest;
import org.apache.zookeeper.proto.RequestHeader;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.proto.SyncRequest;

/** A way to a server that tells each packet of a client, as a text, and then passes it on. */
final class Packets implements AutoCloseable {
  /** The bodies of the packets that can be told, by their operations. */
  private static final Map<Integer, Supplier<Record>> BODIES = Map.ofEntries(
      Map.entry(OpCode.create, CreateRequest::new),
      Map.entry(OpCode.create2, CreateRequest::new),
      Map.entry(OpCode.createContainer, CreateRequest::new),
      Map.entry(OpCode.delete, DeleteRequest::new),
      Map.entry(OpCode.exists, ExistsRequest::new),
      Map.entry(OpCode.getACL, GetACLRequest::new),
      Map.entry(OpCode.getChildren, GetChildrenRequest::new),
      Map.entry(OpCode.getChildren2, GetChildren2Request::new),
      Map.entry(OpCode.getData, GetDataRequest::new),
      Map.entry(OpCode.setData, SetDataRequest::new),
      Map.entry(OpCode.sync, SyncRequest::new),
      Map.entry(OpCode.removeWatches, RemoveWatchesRequest::new),
      Map.entry(OpCode.multi, MultiOperationRecord::new),
      Map.entry(OpCode.multiRead, MultiOperationRecord::new));

  private final String serverHost;
  private final int serverPort;
  private final Consumer<String> told;
  private final ServerSocket listening;

  Packets(String serverHost, int serverPort, Consumer<String> told) throws IOException {
    this.serverHost = serverHost;
    this.serverPort = serverPort;
    this.told = told;
    listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  /** Returns the address for clients, as text. */
  String host() {
    return listening.getInetAddress().getHostAddress();
  }

  /** Returns the port for clients. */
  int port() {
    return listening.getLocalPort();
  }

  private interface Work {
    void run() throws IOException;
  }

  private static void start(Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
      } catch (IOException e) {
        // One of its sockets was closed: that is how it ends.
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() throws IOException {
    while (true) {
      Socket client = listening.accept();
      start(() -> connect(client));
    }
  }

  private void connect(Socket client) throws IOException {
    try (client;
        Socket server = new Socket(serverHost, serverPort)) {
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      start(() -> {
        try (client;
            server) {
          long unused = server.getInputStream().transferTo(client.getOutputStream());
        }
      });
      carry(new DataInputStream(client.getInputStream()), server);
    }
  }

  private void carry(DataInputStream from, Socket server) throws IOException {
    DataOutputStream to = new DataOutputStream(server.getOutputStream());
    boolean isFirst = true;
    while (true) {
      byte[] packet = new byte[from.readInt()];
      from.readFully(packet);
      if (!isFirst) {
        tell(packet);
      }
      isFirst = false; // That one asks for a session, and has no header.
      to.writeInt(packet.length);
      to.write(packet);
      to.flush();
    }
  }

  private void tell(byte[] packet) throws IOException {
    BinaryInputArchive in = BinaryInputArchive.getArchive(new ByteArrayInputStream(packet));
    RequestHeader header = new RequestHeader();
    header.deserialize(in, "header");
    int type = header.getType();
    if (type == OpCode.ping || type == OpCode.closeSession) {
      return;
    }
    Supplier<Record> body = BODIES.get(type);
    if (body == null) {
      told.accept(operation(type));
    } else {
      Record read = body.get();
      read.deserialize(in, "request");
      told.accept(operation(type) + ' ' + text(read));
    }
  }

  /** Returns the name that ZooKeeper's own constant for an operation has. */
  private static String operation(int type) {
    try {
      for (Field constant : OpCode.class.getFields()) {
        if (constant.getInt(null) == type) {
          return constant.getName();
        }
      }
      return "operation " + type;
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String text(Record body) {
    if (body instanceof CreateRequest create) {
      return create.getPath()
          + ' '
          + mode(create.getFlags())
          + ' '
          + quoted(create.getData())
          + acl(create.getAcl());
    } else if (body instanceof DeleteRequest delete) {
      return delete.getPath() + version(delete.getVersion());
    } else if (body instanceof CheckVersionRequest check) {
      return check.getPath() + version(check.getVersion());
    } else if (body instanceof SetDataRequest set) {
      return set.getPath() + ' ' + quoted(set.getData()) + version(set.getVersion());
    } else if (body instanceof ExistsRequest exists) {
      return exists.getPath() + watch(exists.getWatch());
    } else if (body instanceof GetDataRequest get) {
      return get.getPath() + watch(get.getWatch());
    } else if (body instanceof GetChildrenRequest get) {
      return get.getPath() + watch(get.getWatch());
    } else if (body instanceof GetChildren2Request get) {
      return get.getPath() + watch(get.getWatch());
    } else if (body instanceof GetACLRequest get) {
      return get.getPath();
    } else if (body instanceof SyncRequest sync) {
      return sync.getPath();
    } else if (body instanceof RemoveWatchesRequest remove) {
      return remove.getPath() + " type " + remove.getType();
    } else if (body instanceof MultiOperationRecord multi) {
      List<String> steps = new ArrayList<>();
      for (Op op : multi) {
        steps.add("\n      " + operation(op.getType()) + ' ' + text(op.toRequestRecord()));
      }
      return "of" + String.join("", steps);
    }
    throw new IllegalArgumentException(body.toString());
  }

  private static String mode(int flags) {
    try {
      return CreateMode.fromFlag(flags).toString();
    } catch (KeeperException e) {
      return "flags " + flags;
    }
  }

  private static String quoted(byte[] data) {
    return "'" + new String(data, StandardCharsets.UTF_8).replace("\n", "\\n") + "'";
  }

  private static String acl(List<ACL> acl) {
    StringBuilder text = new StringBuilder();
    for (ACL one : acl) {
      text.append(" acl ").append(one.getId().getScheme()).append(':');
      text.append(one.getId().getId()).append(':').append(one.getPerms());
    }
    return text.toString();
  }

  private static String version(int version) {
    return version == -1 ? "" : " version " + version;
  }

  private static String watch(boolean watch) {
    return watch ? " and watch" : "";
  }

  @Override
  public void close() throws IOException {
    listening.close();
  }
}
