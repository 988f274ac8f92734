/**
 * The conformance kit: tests of the rules in docs/SPEC.md. The author of a backend writes a
 * {@link io.holdfast.lock.tck.Fixture} and a subclass of
 * {@link io.holdfast.lock.tck.LockConformance}.
 */
@NullMarked
package io.holdfast.lock.tck;

import org.jspecify.annotations.NullMarked;
