/** The engine: everything about a lock that means the same on every store. Not exported. */
@NullMarked
package io.holdfast.lock.internal;

import org.jspecify.annotations.NullMarked;
