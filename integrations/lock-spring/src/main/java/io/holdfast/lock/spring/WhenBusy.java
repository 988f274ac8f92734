package io.holdfast.lock.spring;

/** The outcomes of a call that finds its lock busy. */
public enum WhenBusy {
  /**
   * The call throws a {@link io.holdfast.lock.LockTimeoutException}, which names the holder if it
   * is known.
   */
  THROW,
  /**
   * The call returns without having done anything: null, or an empty {@code Optional}. For methods
   * that return nothing, an {@code Optional}, or the wrapper of a primitive type ({@code Integer}),
   * or a {@code CompletionStage} of these. Others are refused at start, since their callers would
   * take null for a result.
   */
  SKIP
}
