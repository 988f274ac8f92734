package io.holdfast.lock.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import org.testcontainers.containers.GenericContainer;

/** A single Consul server that keeps its log on disk. */
public final class ConsulServer extends BenchServer {
  private final OkHttpClient http = new OkHttpClient();
  private final ObjectMapper json = new ObjectMapper();

  @SuppressWarnings("resource") // Closed by the superclass.
  public ConsulServer(int port) {
    super(
        new GenericContainer<>("consul:1.8")
            .withCommand(
                "agent",
                "-server",
                "-bootstrap-expect=1",
                "-client=127.0.0.1",
                "-bind=127.0.0.1",
                "-hcl=performance { raft_multiplier = 1 }",
                "-hcl=limits { http_max_conns_per_client = 2000 }",
                "-hcl=ports { http = " + port + " dns = -1 server = " + freePort() + " serf_lan = "
                    + freePort() + " serf_wan = " + freePort() + " }"),
        logged(".*cluster leadership acquired.*"),
        port,
        "http://" + HOST + ":" + port,
        "each Raft entry on disk, one server, raft_multiplier 1",
        "Raft entries; requests that only read are not among them");
  }

  @Override
  public String version() throws IOException {
    return "Consul " + self().at("/Config/Version").asText();
  }

  @Override
  public long commands() throws IOException {
    return self().at("/Stats/raft/last_log_index").asLong();
  }

  private JsonNode self() throws IOException {
    Request request = new Request.Builder().url(url() + "/v1/agent/self").build();
    try (Response response = http.newCall(request).execute()) {
      return json.readTree(response.body().string());
    }
  }
}
