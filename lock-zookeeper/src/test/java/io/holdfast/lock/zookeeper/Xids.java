package io.holdfast.lock.zookeeper;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.zookeeper.ZooKeeper;

/** The number of requests that a handle has sent, which it counts but does not tell. */
final class Xids {
  private Xids() {}

  static int sent(ZooKeeper zk) throws ReflectiveOperationException {
    Field connection = ZooKeeper.class.getDeclaredField("cnxn");
    connection.setAccessible(true);
    Object cnxn = connection.get(zk);
    Method next = cnxn.getClass().getMethod("getXid");
    next.setAccessible(true);
    // Asking takes a number itself.
    int taken = (int) next.invoke(cnxn);
    asked++;
    return taken - asked;
  }

  private static int asked;
}
