/** Faults on the way between a client and its store, made to order. */
@NullMarked
package io.holdfast.lock.tck.fault;

import org.jspecify.annotations.NullMarked;
