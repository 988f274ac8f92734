package io.holdfast.lock.zookeeper;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.zookeeper.ZooKeeper;

/** How many requests a handle has sent: it numbers them, and does not tell. */
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
