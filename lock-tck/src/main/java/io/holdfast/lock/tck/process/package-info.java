/** Child processes that take locks on command, and can be frozen and killed. */
@NullMarked
package io.holdfast.lock.tck.process;

import org.jspecify.annotations.NullMarked;
