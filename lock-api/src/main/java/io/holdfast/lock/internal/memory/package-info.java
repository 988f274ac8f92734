/** A store in this JVM's memory. Not exported. */
@NullMarked
package io.holdfast.lock.internal.memory;

import org.jspecify.annotations.NullMarked;
