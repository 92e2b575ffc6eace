package towpath.interop;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The items of every server, and the arguments of one run. */
final class Offer {
  static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
  static final String WATCHED = "interop://watched";
  static final String ROOT = "file:///interop";

  private Offer() {}

  static Map<String, Object> read(Map<String, String> options) throws IOException {
    return JSON.readValue(Files.readString(Path.of(options.get("offer"))), new TypeRef<Map<String, Object>>() {});
  }

  @SuppressWarnings("unchecked")
  static List<Map<String, Object>> all(Map<String, Object> offer, String kind) {
    return (List<Map<String, Object>>) offer.get(kind);
  }

  /** Parses options in pairs: {@code --name value}. */
  static Map<String, String> options(String[] args) {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) options.put(args[i].substring(2), args[i + 1]);
    return options;
  }
}
