/** Processes of their own that take locks on command, to be frozen and killed. */
@NullMarked
package io.holdfast.lock.tck.process;

import org.jspecify.annotations.NullMarked;
