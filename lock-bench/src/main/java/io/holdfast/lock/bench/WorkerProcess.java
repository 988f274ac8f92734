package io.holdfast.lock.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.lock.bench.candidate.Candidate;
import io.holdfast.lock.bench.candidate.Store;
import io.holdfast.lock.bench.scenario.Sample;
import io.holdfast.lock.bench.scenario.Task;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The parent's side of a {@link Worker}. */
final class WorkerProcess implements AutoCloseable {
  private static final String GONE = "";
  private static final int START_SECONDS_MAX = 120;
  private static final int END_SECONDS_MAX = 20;

  private final ObjectMapper json = new ObjectMapper();
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final Process process;
  private final BufferedWriter tasks;
  private boolean ready;

  private WorkerProcess(Process process) {
    this.process = process;
    this.tasks = new BufferedWriter(
        new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    Thread reader = new Thread(this::read, "answers");
    reader.setDaemon(true);
    reader.start();
  }

  /** @param log the file for the output of the worker's libraries */
  static WorkerProcess start(
      Store store, Candidate candidate, String url, Path arena, Path log, List<String> jvmOptions)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(
        "-Xmx512m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-Dzookeeper.jmx.log4j.disable=true"));
    command.addAll(jvmOptions);
    command.addAll(List.of(
        "-cp",
        candidate.program().classPath(),
        Worker.class.getName(),
        store.name(),
        candidate.program().candidate(),
        url,
        arena.toString()));
    return new WorkerProcess(new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
        .start());
  }

  private void read() {
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(Worker.ANSWER)) {
          answers.add(line.substring(Worker.ANSWER.length()));
        }
      }
    } catch (IOException e) {
      // It ended.
    }
    answers.add(GONE);
  }

  long pid() {
    return process.pid();
  }

  void awaitReady() throws BenchException {
    if (!ready) {
      answer(START_SECONDS_MAX);
      ready = true;
    }
  }

  void send(Task task) throws BenchException {
    try {
      tasks.write(json.writeValueAsString(task));
      tasks.newLine();
      tasks.flush();
    } catch (IOException e) {
      throw new BenchException("its JVM is gone", e);
    }
  }

  Sample receive(int secondsMax) throws BenchException {
    String answer = answer(secondsMax);
    try {
      return json.readValue(answer, Sample.class);
    } catch (JsonProcessingException e) {
      throw new BenchException("its JVM answered " + answer, e);
    }
  }

  private String answer(int secondsMax) throws BenchException {
    String answer;
    try {
      answer = answers.poll(secondsMax, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    }
    if (answer == null) {
      throw new BenchException("no answer within " + secondsMax + " s", null);
    }
    if (answer.equals(GONE)) {
      answers.add(GONE);
      throw new BenchException("its JVM is gone", null);
    }
    return answer;
  }

  /** Ends the worker normally, so that a flight recording is written. */
  void finish() {
    try {
      tasks.close();
      process.waitFor(END_SECONDS_MAX, TimeUnit.SECONDS);
    } catch (IOException e) {
      // It has ended already.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
