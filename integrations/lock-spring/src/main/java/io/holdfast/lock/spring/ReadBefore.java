package io.holdfast.lock.spring;

import org.hibernate.Session;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Entities of Hibernate that the caller of a locked method has read, in a persistence context that
 * is still open and that the method's transaction would join. Spring Boot opens one for each web
 * request by default (open-in-view). The method would get these entities as they were before it had
 * its lock, and the context keeps its connection while the method waits.
 */
final class ReadBefore {
  private static final boolean IS_HIBERNATE_HERE =
      isHere("org.springframework.orm.jpa.EntityManagerHolder")
          && isHere("org.hibernate.stat.SessionStatistics");

  private ReadBefore() {}

  private static boolean isHere(String type) {
    return ClassUtils.isPresent(type, ReadBefore.class.getClassLoader());
  }

  /** @throws IllegalStateException the caller of this method has read such entities */
  static void refuse(Place place) {
    if (IS_HIBERNATE_HERE && !TransactionSynchronizationManager.isActualTransactionActive()) {
      for (Object resource : TransactionSynchronizationManager.getResourceMap().values()) {
        if (Contexts.hasEntities(resource)) {
          throw new IllegalStateException(place
              + " was called after its caller had read entities, in a persistence context that is"
              + " still open (Spring Boot's open-in-view): the method would get them as they were"
              + " before it had its lock. Nothing was locked. Set spring.jpa.open-in-view=false, or"
              + " call the method before anything is read");
        }
      }
    }
  }

  /** The part that needs Hibernate to be there. */
  private static final class Contexts {
    static boolean hasEntities(Object resource) {
      return resource instanceof EntityManagerHolder holder
          && holder.getEntityManager() instanceof Session session
          && session.getStatistics().getEntityCount() > 0;
    }
  }
}
