/** Distributed locks around the methods of Spring beans. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"
}) // Spring has no descriptors.
module io.holdfast.lock.spring {
  requires transitive io.holdfast.lock;
  requires transitive spring.context;
  requires transitive spring.beans;
  requires transitive spring.core;
  requires spring.aop;
  requires spring.expression;
  requires org.slf4j;
  requires static java.sql;
  requires static io.holdfast.lock.jdbc;
  requires static spring.jdbc;
  requires static spring.orm;
  requires static spring.tx;
  requires static jakarta.persistence;
  requires static org.hibernate.orm.core;
  requires static org.jspecify;

  exports io.holdfast.lock.spring;

  // Spring makes the beans of this module by reflection.
  opens io.holdfast.lock.spring;
}
