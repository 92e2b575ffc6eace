/** Returns the path of the MCP endpoint of a group, or of the one with all servers. */
export const mcpPath = (group: string | undefined): string =>
  group === undefined ? '/mcp' : `/v0/groups/${encodeURIComponent(group)}/mcp`

/** Address of a gateway, without the path of the MCP endpoint, and the group of that endpoint. */
export interface GatewayAddress {
  readonly registry: string
  readonly group: string | undefined
}

/** Splits the URL of an MCP endpoint, as `mcpPath` forms it. */
export function gatewayAddress(endpoint: string): GatewayAddress {
  const [, registry = endpoint, group] = /^(.*?)(?:\/v0\/groups\/([^/]+))?\/mcp\/?$/s.exec(endpoint) ?? []
  return { registry, group: group === undefined ? undefined : decodeURIComponent(group) }
}
