package io.holdfast.lock.spring.boot;

import io.holdfast.lock.spring.InvalidLockedMethodException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.util.StringUtils;

/** Says at the end of a failed start which method can't be locked, and what to change. */
final class LockedFailureAnalyzer extends AbstractFailureAnalyzer<InvalidLockedMethodException> {
  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, InvalidLockedMethodException cause) {
    return new FailureAnalysis(
        cause.problem() + ".", StringUtils.capitalize(cause.remedy()) + ".", cause);
  }
}
