package io.holdfast.lock.simulation;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.util.function.Consumer;
import org.slf4j.LoggerFactory;

/**
 * What the engine logs, from a level up, until this is closed. Otherwise it logs nothing
 * ({@code logback-test.xml}): what it warns of is what the tests provoke, and the model's threads
 * must share no lock with others.
 */
public final class EngineLog implements AutoCloseable {
  private static final Logger ENGINE = (Logger) LoggerFactory.getLogger("io.holdfast.lock");

  private final Lines lines;

  /** @param lines called by the thread that logs, which gets what it throws */
  public EngineLog(Level level, Consumer<ILoggingEvent> lines) {
    this.lines = new Lines(lines);
    ENGINE.addAppender(this.lines);
    ENGINE.setLevel(level);
  }

  @Override
  public void close() {
    ENGINE.setLevel(null); // That of the root.
    ENGINE.detachAppender(lines);
  }

  private static final class Lines extends UnsynchronizedAppenderBase<ILoggingEvent> {
    private final Consumer<ILoggingEvent> lines;

    Lines(Consumer<ILoggingEvent> lines) {
      this.lines = lines;
    }

    /** Unlike an appender of the library, throws what it is thrown. */
    @Override
    public void doAppend(ILoggingEvent line) {
      lines.accept(line);
    }

    @Override
    protected void append(ILoggingEvent line) {}
  }
}
