package towpath.interop;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The client of the Java SDK, legacy era; prints one line of JSON per feature. */
public final class Client {
  private interface Attempt {
    void run() throws Exception;
  }

  private static final class Unsupported extends Exception {}

  private final Map<String, String> options;
  private final Map<String, Object> offer;
  private final String prefix;
  private final List<String> logs = Collections.synchronizedList(new ArrayList<>());
  private final List<String> updated = Collections.synchronizedList(new ArrayList<>());
  private final List<String> changed = Collections.synchronizedList(new ArrayList<>());
  private final List<Double> progressed = Collections.synchronizedList(new ArrayList<>());
  private final ExecutorService workers = Executors.newCachedThreadPool();
  private McpSyncClient client;

  private Client(Map<String, String> options) throws Exception {
    this.options = options;
    this.offer = Offer.read(options);
    this.prefix = options.getOrDefault("prefix", "");
  }

  public static void main(String[] args) throws Exception {
    new Client(Offer.options(args)).run();
    System.exit(0);
  }

  private void run() throws Exception {
    try {
      client = connect();
    } catch (Exception error) {
      say("init", "failed", describe(error));
      return;
    }
    say("init", "ok", client.getCurrentInitializationResult().protocolVersion());
    String only = options.getOrDefault("only", "");
    for (Map.Entry<String, Attempt> feature : features().entrySet())
      if (only.isEmpty() || List.of(only.split(",")).contains(feature.getKey()))
        attempt(feature.getKey(), feature.getValue());
  }

  private McpSyncClient connect() throws Exception {
    McpSyncClient made = McpClient.sync(transport())
        .requestTimeout(Duration.ofSeconds(120))
        .clientInfo(new McpSchema.Implementation("interop", "1"))
        .capabilities(McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build())
        .roots(new McpSchema.Root(Offer.ROOT, "interop"))
        .sampling(this::sample)
        .elicitation(request -> McpSchema.ElicitResult.builder()
            .message(McpSchema.ElicitResult.Action.ACCEPT)
            .content(Map.of("answer", answer(request.message())))
            .build())
        .loggingConsumer(message -> logs.add(message.data()))
        .progressConsumer(progress -> progressed.add(progress.progress()))
        .toolsChangeConsumer(tools -> changed.add("tools"))
        .resourcesUpdateConsumer(contents -> contents.forEach(content -> updated.add(content.uri())))
        .build();
    made.initialize();
    return made;
  }

  private McpClientTransport transport() throws Exception {
    String url = options.get("url");
    if ("stdio".equals(options.get("transport"))) {
      List<String> command = Offer.JSON.readValue(url, new TypeRef<List<String>>() {});
      ServerParameters parameters = ServerParameters.builder(command.get(0))
          .args(command.subList(1, command.size()))
          .env(System.getenv())
          .build();
      return new StdioClientTransport(parameters, Offer.JSON);
    }
    URI uri = URI.create(url);
    String base = uri.getScheme() + "://" + uri.getAuthority();
    HttpRequest.Builder request = HttpRequest.newBuilder();
    if (options.containsKey("token")) request.header("Authorization", "Bearer " + options.get("token"));
    if ("sse".equals(options.get("transport")))
      return HttpClientSseClientTransport.builder(base).sseEndpoint(uri.getPath()).requestBuilder(request).build();
    return HttpClientStreamableHttpTransport.builder(base)
        .endpoint(uri.getPath())
        .requestBuilder(request)
        .openConnectionOnStartup(true)
        .build();
  }

  private McpSchema.CreateMessageResult sample(McpSchema.CreateMessageRequest request) {
    McpSchema.TextContent asked = (McpSchema.TextContent) request.messages().get(0).content();
    McpSchema.Content content = new McpSchema.TextContent(answer(asked.text()));
    return McpSchema.CreateMessageResult.builder(McpSchema.Role.ASSISTANT, content, "m").build();
  }

  /** Answers a server request; answers to parallel calls take longer the later the request came. */
  private static String answer(String message) {
    String question = message.replaceFirst("^\\[[^\\]]+\\] ", "");
    if (question.matches("ask-\\d+")) sleep(300L * (1 + Integer.parseInt(question.substring(4))));
    return "answer to " + question;
  }

  private Map<String, Attempt> features() {
    Map<String, Attempt> all = new LinkedHashMap<>();
    all.put("lists", this::lists);
    all.put("text", () -> expect(text("echo", Map.of("text", "Grüße, 世界 \u2028")), "Grüße, 世界 \u2028"));
    all.put("image", () -> {
      McpSchema.ImageContent image = (McpSchema.ImageContent) call("image", Map.of()).content().get(0);
      expect(image.data(), offer.get("image"));
    });
    all.put("structured", () -> expect(sum(call("structured", Map.of("a", 19, "b", 23)).structuredContent()), 42.0));
    all.put("error", () -> {
      McpSchema.CallToolResult result = call("fail", Map.of());
      expect(result.isError(), true);
      expect(textOf(result).endsWith("on purpose"), true);
    });
    all.put("no-arguments", () -> expect(Boolean.TRUE.equals(call("image", null).isError()), false));
    all.put("prompt", () -> {
      McpSchema.GetPromptRequest request = new McpSchema.GetPromptRequest(prefix + "greet", Map.of("name", "Ada"));
      McpSchema.Content content = client.getPrompt(request).messages().get(0).content();
      expect(((McpSchema.TextContent) content).text(), "Hello, Ada");
    });
    all.put("read", () -> expect(read("interop://static"), "static text"));
    all.put("template", () -> expect(read("interop://items/42"), "item 42"));
    all.put("wildcard", () -> {
      if (!templates().contains("path://{p*}")) throw new Unsupported();
      expect(read("path://a/b/c"), "path a/b/c");
    });
    all.put("complete", () -> {
      McpSchema.CompleteRequest request = new McpSchema.CompleteRequest(
          new McpSchema.PromptReference(prefix + "greet"), new McpSchema.CompleteRequest.CompleteArgument("name", "A"));
      expect(client.completeCompletion(request).completion().values(), offer.get("names"));
    });
    all.put("progress", () -> {
      client.callTool(McpSchema.CallToolRequest.builder(prefix + "progress")
          .arguments(Map.of())
          .progressToken("interop")
          .build());
      until("four steps of progress", () -> progressed.size() >= 4);
      expect(List.copyOf(progressed), List.of(1.0, 2.0, 3.0, 4.0));
    });
    all.put("log", () -> {
      client.setLoggingLevel(McpSchema.LoggingLevel.DEBUG);
      call("log", Map.of());
      until("two log messages", () -> logs.containsAll(List.of("log-1", "log-2")));
    });
    all.put("cancel", () -> {
      throw new Unsupported();
    });
    all.put("sampling", () -> expect(text("sample", Map.of("text", "why")), "sampled: answer to why"));
    all.put("elicitation", () -> expect(text("elicit", Map.of("text", "who")), "elicited: accept answer to who"));
    all.put("roots", () -> expect(text("roots", Map.of()), "roots: " + Offer.ROOT));
    all.put("parallel", () -> each(20, "echo", "n", ""));
    all.put("askers", () -> {
      each(5, "sample", "ask-", "sampled: answer to ");
      each(5, "elicit", "ask-", "elicited: accept answer to ");
    });
    all.put("subscribe", () -> {
      client.subscribeResource(new McpSchema.SubscribeRequest(Offer.WATCHED));
      call("touch", Map.of());
      until("update of the resource", () -> updated.contains(Offer.WATCHED));
    });
    all.put("list-changed", () -> {
      int before = changed.size();
      call("grow", Map.of());
      until("word of the changed list", () -> changed.size() > before);
      until("new tool in the list", () -> tools().contains(prefix + "extra"));
    });
    return all;
  }

  private void lists() {
    List<String> tools = tools();
    for (Map<String, Object> tool : Offer.all(offer, "tools")) expect(tools.contains(prefix + tool.get("name")), true);
    expect(client.listPrompts().prompts().stream().anyMatch(one -> one.name().equals(prefix + "greet")), true);
    List<String> uris = client.listResources().resources().stream().map(McpSchema.Resource::uri).toList();
    for (Map<String, Object> one : Offer.all(offer, "resources")) expect(uris.contains(one.get("uri")), true);
    List<String> templates = templates();
    for (Map<String, Object> one : Offer.all(offer, "templates"))
      expect(templates.contains(one.get("uriTemplate")), true);
  }

  private List<String> tools() {
    return client.listTools().tools().stream().map(McpSchema.Tool::name).toList();
  }

  private List<String> templates() {
    return client.listResourceTemplates().resourceTemplates().stream()
        .map(McpSchema.ResourceTemplate::uriTemplate)
        .toList();
  }

  private McpSchema.CallToolResult call(String name, Map<String, Object> arguments) {
    return client.callTool(new McpSchema.CallToolRequest(prefix + name, arguments));
  }

  private String text(String name, Map<String, Object> arguments) {
    return textOf(call(name, arguments));
  }

  private static String textOf(McpSchema.CallToolResult result) {
    return ((McpSchema.TextContent) result.content().get(0)).text();
  }

  private static double sum(Object structured) {
    return ((Number) ((Map<?, ?>) structured).get("sum")).doubleValue();
  }

  private String read(String uri) {
    McpSchema.ReadResourceResult result = client.readResource(new McpSchema.ReadResourceRequest(uri));
    return ((McpSchema.TextResourceContents) result.contents().get(0)).text();
  }

  private void each(int count, String tool, String word, String expected) throws Exception {
    List<Future<String>> calls = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      String asked = word + number;
      calls.add(workers.submit(() -> text(tool, Map.of("text", asked))));
    }
    List<String> wrong = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      String got = outcome(calls.get(number));
      if (!got.equals(expected + word + number)) wrong.add(got);
    }
    if (!wrong.isEmpty())
      throw new AssertionError(tool + ": " + (count - wrong.size()) + " of " + count + " right, else " + wrong.get(0));
  }

  private static String outcome(Future<String> call) throws InterruptedException {
    try {
      return call.get();
    } catch (ExecutionException error) {
      return describe(error.getCause());
    }
  }

  private void attempt(String name, Attempt feature) {
    Future<?> running = workers.submit(() -> {
      feature.run();
      return null;
    });
    try {
      running.get(121, TimeUnit.SECONDS);
      say(name, "ok", "");
    } catch (ExecutionException error) {
      if (error.getCause() instanceof Unsupported) say(name, "unsupported", "");
      else say(name, "failed", describe(error.getCause()));
    } catch (Exception error) {
      say(name, "failed", describe(error));
    }
  }

  private static void expect(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " instead of " + expected);
  }

  private static void until(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + 15_000_000_000L;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) throw new AssertionError("no " + what + " within 15 s");
      sleep(20);
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private static String describe(Throwable error) {
    String text = String.valueOf(error).replace('\n', ' ');
    return text.length() > 300 ? text.substring(0, 300) : text;
  }

  private static void say(String feature, String outcome, String note) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("feature", feature);
    line.put("outcome", outcome);
    line.put("note", note);
    try {
      System.out.println(Offer.JSON.writeValueAsString(line));
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
