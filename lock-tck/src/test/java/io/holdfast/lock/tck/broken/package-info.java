/**
 * Deliberately wrong stores, engines and guards: each has one bug that somebody made before, and a
 * test that shows which rule catches it.
 */
package io.holdfast.lock.tck.broken;
