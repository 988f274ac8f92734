/** The ticket sale that {@code dev/demo} shows: four JVMs sell a hundred seats. */
@NullMarked
package io.holdfast.lock.examples.tickets;

import org.jspecify.annotations.NullMarked;
