/** Checks that the samples in the documentation are regions of tests. */
package io.holdfast.lock.examples.docs;
