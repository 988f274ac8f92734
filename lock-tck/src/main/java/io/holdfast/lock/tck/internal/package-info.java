/** The inside of the kit, which packages of it share. */
@NullMarked
package io.holdfast.lock.tck.internal;

import org.jspecify.annotations.NullMarked;
