/** What the tests of several modules need. Not published. */
@NullMarked
package io.holdfast.lock.testsupport;

import org.jspecify.annotations.NullMarked;
