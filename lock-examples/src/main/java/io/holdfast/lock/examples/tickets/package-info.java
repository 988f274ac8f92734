/** The ticket sale that {@code dev/demo} shows: four JVMs sell what there is only a hundred of. */
@NullMarked
package io.holdfast.lock.examples.tickets;

import org.jspecify.annotations.NullMarked;
