package io.holdfast.lock.consul;

import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * Three servers and a client agent, as processes of one container: when one ends, the container and
 * its ports stay.
 */
final class ConsulCluster implements AutoCloseable {
  /** The number of the client agent, which is what most programs talk to. */
  static final int CLIENT = 3;

  private static final Duration STARTUP_MAX = Duration.ofMinutes(1);
  private static final int HTTP_PORTS = 18_500;
  private static final int SERVER_PORTS = 18_300;
  private static final int LAN_PORTS = 18_400;
  private static final int WAN_PORTS = 18_600;

  private final String[] settings;
  private final GenericContainer<?> container;

  /** @param settings more settings of every agent */
  ConsulCluster(String... settings) throws Exception {
    this.settings = settings;
    ServerContainer.assumeDocker();
    container = new GenericContainer<>(Image.CONSUL.name())
        .withExposedPorts(IntStream.rangeClosed(0, CLIENT)
            .mapToObj(agent -> HTTP_PORTS + agent)
            .toArray(Integer[]::new))
        .withCreateContainerCmdModifier(command -> command.withEntrypoint("sh"))
        .withCommand("-c", "echo open; exec sleep 3600")
        .waitingFor(Wait.forLogMessage("open\n", 1).withStartupTimeout(STARTUP_MAX));
    boolean started = false;
    try {
      container.start();
      for (int agent = 0; agent <= CLIENT; agent++) {
        start(agent);
      }
      awaitLeaderOtherThan(CLIENT);
      for (int agent = 0; agent <= CLIENT; agent++) {
        awaitSessionsAt(agent);
      }
      started = true;
    } finally {
      if (!started) {
        container.close();
      }
    }
  }

  /** Starts an agent, or starts it again. */
  void start(int agent) throws Exception {
    String folder = "agent-" + agent;
    StringBuilder command = new StringBuilder("mkdir -p " + folder + " && nohup consul agent"
        + " -node=agent-" + agent
        + " -data-dir=" + folder
        + " -pid-file=" + folder + "/pid"
        + " -bind=127.0.0.1 -client=0.0.0.0 -dns-port=-1"
        + " -http-port=" + (HTTP_PORTS + agent)
        + " -serf-lan-port=" + (LAN_PORTS + agent)
        + " -serf-wan-port=" + (WAN_PORTS + agent)
        + " -server-port=" + (SERVER_PORTS + agent)
        + " -retry-interval=1s"
        + " -hcl='leave_on_terminate = true rejoin_after_leave = true'"
        + " -hcl='performance { raft_multiplier = 1 }'"
        + " -hcl='limits { http_max_conns_per_client = 2000 }'");
    if (agent != CLIENT) {
      command.append(" -server -bootstrap-expect=3");
    }
    for (String setting : settings) {
      command.append(" -hcl='").append(setting).append('\'');
    }
    for (int other = 0; other < CLIENT; other++) {
      command.append(" -retry-join=127.0.0.1:").append(LAN_PORTS + other);
    }
    run(command + " >>" + folder + "/log 2>&1 &");
  }

  /** Kills an agent. */
  void kill(int agent) throws Exception {
    signal(agent, "KILL");
  }

  /**
   * Ends an agent as an operator does, so that it leaves the cluster, as many set servers to do.
   */
  void stop(int agent) throws Exception {
    signal(agent, "TERM");
  }

  private void signal(int agent, String name) throws Exception {
    String pid = run("cat agent-" + agent + "/pid").strip();
    run("kill -" + name + " " + pid);
    Await.until("agent " + agent + " has ended", () -> {
      try {
        // In this container nobody reaps ended processes, so the number stays.
        return run("cat /proc/" + pid + "/cmdline 2>/dev/null | wc -c").strip().equals("0");
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
  }

  String address(int agent) {
    return "http://" + container.getHost() + ":" + container.getMappedPort(HTTP_PORTS + agent);
  }

  /** Waits until the servers agree on another leader, and returns its number. */
  int awaitLeaderOtherThan(int old) {
    List<Integer> asked =
        IntStream.range(0, CLIENT).filter(server -> server != old).boxed().toList();
    int[] leader = {-1};
    Await.until("the servers have a new leader", () -> {
      List<Integer> answers = asked.stream().map(this::leader).distinct().toList();
      leader[0] = answers.get(0);
      return answers.size() == 1 && leader[0] >= 0 && leader[0] != old;
    });
    return leader[0];
  }

  /**
   * Waits until all servers run, agree on a leader, and have caught up with it. One that left and
   * came back has no vote for some time, and the others may elect none without it.
   */
  void awaitHealth() {
    int leader = awaitLeaderOtherThan(-1);
    Await.until("the servers are healthy", () -> {
      try {
        TestHttp.Answer answer = new TestHttp(address(leader)).get("/v1/operator/autopilot/health");
        int voters = answer.body().split("\"Voter\":true", -1).length - 1;
        return answer.status() == 200 && voters == CLIENT;
      } catch (IOException e) {
        return false;
      }
    });
    awaitSessionsAt(CLIENT);
  }

  /** Waits until sessions can be made at an agent. */
  void awaitSessionsAt(int agent) {
    new TestHttp(address(agent)).awaitSessions();
  }

  /** Returns the number of the server that this agent takes for the leader; -1: none. */
  private int leader(int agent) {
    try {
      TestHttp.Answer answer = new TestHttp(address(agent)).get("/v1/status/leader");
      String body = answer.body().replace("\"", "").strip();
      return answer.status() == 200 && body.contains(":")
          ? Integer.parseInt(body.substring(body.lastIndexOf(':') + 1)) - SERVER_PORTS
          : -1;
    } catch (IOException e) {
      return -1;
    }
  }

  private String run(String command) throws IOException, InterruptedException {
    ExecResult result = execute(command);
    if (result.getExitCode() != 0) {
      throw new IllegalStateException(command + ": " + result);
    }
    return result.getStdout();
  }

  private ExecResult execute(String command) throws IOException, InterruptedException {
    return container.execInContainer("sh", "-c", command);
  }

  @Override
  public void close() {
    container.close();
  }
}
