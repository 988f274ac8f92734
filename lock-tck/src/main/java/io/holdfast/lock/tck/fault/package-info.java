/** Injects faults into the connection between a client and its store. */
@NullMarked
package io.holdfast.lock.tck.fault;

import org.jspecify.annotations.NullMarked;
