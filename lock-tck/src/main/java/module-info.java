/** The conformance kit: the rules of the specification as tests that every store must pass. */
module io.holdfast.lock.tck {
  requires transitive io.holdfast.lock;
  requires transitive org.junit.jupiter.api;
  requires java.management;
  requires org.assertj.core;
  requires static transitive org.jspecify;

  exports io.holdfast.lock.tck;
  exports io.holdfast.lock.tck.fault;
  exports io.holdfast.lock.tck.process;
  exports io.holdfast.lock.tck.rules;

  // JUnit calls what is not public.
  opens io.holdfast.lock.tck;
  opens io.holdfast.lock.tck.rules;
}
