@NullMarked
package io.holdfast.lock.tck.process;

import org.jspecify.annotations.NullMarked;
