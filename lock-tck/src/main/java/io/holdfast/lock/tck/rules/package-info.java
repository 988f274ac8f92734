/**
 * The rules as tests, one abstract class for each chapter of docs/SPEC.md (two for chapter 8).
 * {@link io.holdfast.lock.tck.LockConformance} runs them all; a backend does not refer to them.
 */
@NullMarked
package io.holdfast.lock.tck.rules;

import org.jspecify.annotations.NullMarked;
