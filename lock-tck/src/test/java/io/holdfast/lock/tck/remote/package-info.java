/**
 * The in-memory store behind a socket: small, and has all that the kit can break. It shows that the
 * kit's proxies, child processes and restarts work, with nothing to install.
 */
package io.holdfast.lock.tck.remote;
