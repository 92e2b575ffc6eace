package towpath.interop;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import jakarta.servlet.http.HttpServlet;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A server of the Java SDK, legacy era. */
public final class Server {
  private static final Map<String, Object> ANSWER = Map.of(
      "type", "object",
      "properties", Map.of("answer", Map.of("type", "string")),
      "required", List.of("answer"));

  private final Map<String, Object> offer;
  private McpSyncServer server;

  private Server(Map<String, Object> offer) {
    this.offer = offer;
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> options = Offer.options(args);
    Server server = new Server(Offer.read(options));
    switch (options.get("transport")) {
      case "stdio" -> server.server = server.fill(McpServer.sync(new StdioServerTransportProvider(Offer.JSON)));
      case "sse" -> {
        HttpServletSseServerTransportProvider transport =
            HttpServletSseServerTransportProvider.builder().sseEndpoint("/sse").messageEndpoint("/message").build();
        server.server = server.fill(McpServer.sync(transport));
        listen(transport, options);
      }
      default -> {
        HttpServletStreamableServerTransportProvider transport =
            HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
        server.server = server.fill(McpServer.sync(transport));
        listen(transport, options);
      }
    }
  }

  private static void listen(HttpServlet servlet, Map<String, String> options) throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createTempDirectory("towpath-interop-").toString());
    tomcat.setHostname("127.0.0.1");
    tomcat.setPort(Integer.parseInt(options.get("port")));
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    Context context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "mcp", servlet).setAsyncSupported(true);
    context.addServletMappingDecoded("/*", "mcp");
    tomcat.start();
    tomcat.getServer().await();
  }

  private McpSyncServer fill(McpServer.SyncSpecification<?> specification) {
    McpServer.SyncSpecification<?> filled = specification
        .serverInfo("interop-java", "1")
        .requestTimeout(Duration.ofSeconds(60))
        .capabilities(McpSchema.ServerCapabilities.builder()
            .tools(true).prompts(false).resources(true, false).logging().completions().build());
    for (Map<String, Object> tool : Offer.all(offer, "tools")) filled.toolCall(definition(tool), this::call);
    McpSchema.PromptArgument name = new McpSchema.PromptArgument("name", "Somebody's name", true);
    filled.prompts(new McpServerFeatures.SyncPromptSpecification(
        new McpSchema.Prompt("greet", "Greets somebody.", List.of(name)), (exchange, request) -> {
          McpSchema.Content content = new McpSchema.TextContent("Hello, " + request.arguments().get("name"));
          return new McpSchema.GetPromptResult(null, List.of(new McpSchema.PromptMessage(McpSchema.Role.USER, content)));
        }));
    for (Map<String, Object> one : Offer.all(offer, "resources"))
      filled.resources(new McpServerFeatures.SyncResourceSpecification(
          McpSchema.Resource.builder((String) one.get("uri"), (String) one.get("name")).mimeType("text/plain").build(),
          (exchange, request) -> read(request.uri())));
    for (Map<String, Object> one : Offer.all(offer, "templates"))
      filled.resourceTemplates(new McpServerFeatures.SyncResourceTemplateSpecification(
          McpSchema.ResourceTemplate.builder((String) one.get("uriTemplate"), (String) one.get("name")).build(),
          (exchange, request) -> read(request.uri())));
    filled.completions(new McpServerFeatures.SyncCompletionSpecification(
        new McpSchema.PromptReference("greet"), (exchange, request) -> new McpSchema.CompleteResult(
            new McpSchema.CompleteResult.CompleteCompletion(names(request.argument().value())))));
    return filled.build();
  }

  @SuppressWarnings("unchecked")
  private static McpSchema.Tool definition(Map<String, Object> tool) {
    McpSchema.Tool.Builder builder = McpSchema.Tool.builder((String) tool.get("name"), (Map<String, Object>) tool.get("inputSchema"))
        .description((String) tool.get("description"));
    if (tool.containsKey("outputSchema")) builder.outputSchema((Map<String, Object>) tool.get("outputSchema"));
    return builder.build();
  }

  @SuppressWarnings("unchecked")
  private List<String> names(String value) {
    return ((List<String>) offer.get("names")).stream().filter(name -> name.startsWith(value)).toList();
  }

  private static McpSchema.ReadResourceResult read(String uri) {
    String text = uri.startsWith("interop://items/") ? "item " + uri.substring(16) : uri.substring(10) + " text";
    return new McpSchema.ReadResourceResult(List.of(new McpSchema.TextResourceContents(uri, "text/plain", text)));
  }

  private static McpSchema.CallToolResult said(String text) {
    return McpSchema.CallToolResult.builder().addTextContent(text).build();
  }

  private McpSchema.CallToolResult call(McpSyncServerExchange exchange, McpSchema.CallToolRequest request) {
    Map<String, Object> arguments = request.arguments() == null ? Map.of() : request.arguments();
    switch (request.name()) {
      case "echo":
        return said((String) arguments.get("text"));
      case "image":
        McpSchema.Content image = McpSchema.ImageContent.builder((String) offer.get("image"), "image/png").build();
        return McpSchema.CallToolResult.builder().addContent(image).build();
      case "structured":
        double sum = ((Number) arguments.get("a")).doubleValue() + ((Number) arguments.get("b")).doubleValue();
        return McpSchema.CallToolResult.builder().addTextContent("" + sum).structuredContent(Map.of("sum", sum)).build();
      case "fail":
        return McpSchema.CallToolResult.builder().addTextContent("failed on purpose").isError(true).build();
      case "progress":
        Object token = request.progressToken();
        for (double step = 1; step <= 4 && token != null; step++) {
          exchange.progressNotification(new McpSchema.ProgressNotification(token, step, 4.0, null));
          pause(30);
        }
        return said("done");
      case "slow":
        return slow((String) arguments.get("token"));
      case "log":
        for (int number = 1; number <= 2; number++)
          exchange.loggingNotification(
              McpSchema.LoggingMessageNotification.builder(McpSchema.LoggingLevel.INFO, "log-" + number).build());
        return said("logged");
      case "sample":
        McpSchema.Content asked = new McpSchema.TextContent((String) arguments.get("text"));
        McpSchema.CreateMessageResult sampled = exchange.createMessage(McpSchema.CreateMessageRequest.builder(
            List.of(new McpSchema.SamplingMessage(McpSchema.Role.USER, asked)), 10).build());
        return said("sampled: " + ((McpSchema.TextContent) sampled.content()).text());
      case "elicit":
        McpSchema.ElicitResult elicited =
            exchange.createElicitation(McpSchema.ElicitRequest.builder((String) arguments.get("text"), ANSWER).build());
        return said("elicited: " + elicited.action().name().toLowerCase() + " " + elicited.content().get("answer"));
      case "roots":
        return said("roots: "
            + exchange.listRoots().roots().stream().map(McpSchema.Root::uri).collect(Collectors.joining(",")));
      case "touch":
        server.notifyResourcesUpdated(new McpSchema.ResourcesUpdatedNotification(Offer.WATCHED));
        return said("touched");
      case "grow":
        McpSchema.Tool extra = McpSchema.Tool.builder("extra", Map.<String, Object>of("type", "object")).build();
        server.addTool(new McpServerFeatures.SyncToolSpecification(extra, this::call));
        return said("grown");
      default:
        return said(request.name());
    }
  }

  private static McpSchema.CallToolResult slow(String token) {
    note("started", token);
    if (!pause(60_000)) note("cancelled", token);
    return said("done");
  }

  /** Returns false if interrupted. */
  private static boolean pause(long millis) {
    try {
      Thread.sleep(millis);
      return true;
    } catch (InterruptedException error) {
      return false;
    }
  }

  /** Writes to the log file, which the client reads too. */
  private static void note(String word, String token) {
    try {
      Path ledger = Path.of(System.getenv("INTEROP_LEDGER"));
      Files.writeString(ledger, word + " " + token + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
