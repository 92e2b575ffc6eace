import type { GroupTool } from '../../../src/schemas/dashboard/tool-groups.ts'

/** Estimated tokens of the tools of one server. */
export interface ServerTokens {
  readonly server: string
  readonly tokens: number
  /** The same without the group's changes. */
  readonly before: number
}

/** Adds up the tokens of tools by their servers, the dearest server first. */
export function tokensByServer(tools: readonly GroupTool[]): ServerTokens[] {
  const sums = new Map<string, ServerTokens>()
  for (const { server, tokens, tokens_before } of tools) {
    const known = sums.get(server) ?? { server, tokens: 0, before: 0 }
    sums.set(server, { server, tokens: known.tokens + tokens, before: known.before + tokens_before })
  }
  return [...sums.values()].toSorted((a, b) => b.tokens - a.tokens)
}
