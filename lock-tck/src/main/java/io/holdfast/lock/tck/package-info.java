/**
 * The conformance kit. A backend's author writes a {@link io.holdfast.lock.tck.Fixture} and a
 * subclass of {@link io.holdfast.lock.tck.LockConformance}; the rules are those of docs/SPEC.md.
 */
@NullMarked
package io.holdfast.lock.tck;

import org.jspecify.annotations.NullMarked;
