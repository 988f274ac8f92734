package io.holdfast.lock.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.util.StringUtils;

/** Says at the end of a failed start what is wrong with the configuration, and what to change. */
final class LockFailureAnalyzer extends AbstractFailureAnalyzer<LockConfigurationException> {
  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, LockConfigurationException cause) {
    return new FailureAnalysis(
        cause.problem() + ".", StringUtils.capitalize(cause.remedy()) + ".", cause);
  }
}
