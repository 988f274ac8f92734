package io.holdfast.lock.consul.http;

import io.holdfast.lock.consul.ConsulException;

/** The factory of the causes of failures. */
public interface Problems {
  Exception cause(ConsulException.Problem problem, int status, String message);
}
