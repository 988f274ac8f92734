/** Keeps the samples in the documentation what the tests say. */
package io.holdfast.lock.examples.docs;
