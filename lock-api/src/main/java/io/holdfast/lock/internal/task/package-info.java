/**
 * Work that is left to do, and the threads that do it. Read
 * {@link io.holdfast.lock.internal.task.Task}, then {@link io.holdfast.lock.internal.task.Workers}:
 * together they see to it that nothing is forgotten where no memory or no thread is left.
 */
@NullMarked
package io.holdfast.lock.internal.task;

import org.jspecify.annotations.NullMarked;
