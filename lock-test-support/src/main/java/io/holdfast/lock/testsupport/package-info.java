/** Servers, waiting and clocks for the tests of several modules. Not published. */
@NullMarked
package io.holdfast.lock.testsupport;

import org.jspecify.annotations.NullMarked;
