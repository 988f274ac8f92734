package io.holdfast.lock.examples.shop;

import java.io.IOException;

/** The application in a process of its own, which ends when its parent is gone. */
final class ShopProcess {
  private ShopProcess() {}

  public static void main(String[] args) {
    Thread watch = new Thread(ShopProcess::haltAtTheEndOfTheParent, "parent-watch");
    watch.setDaemon(true);
    watch.start();
    Shop.main(args);
  }

  private static void haltAtTheEndOfTheParent() {
    try {
      while (System.in.read() >= 0) {
        // Nobody writes: only the end is of interest.
      }
    } catch (IOException e) {
      // The same as the end.
    }
    Runtime.getRuntime().halt(1);
  }
}
