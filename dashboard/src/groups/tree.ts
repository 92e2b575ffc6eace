import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import type { ServerStatus } from '../../../src/schemas/server-status.ts'
import { annotationsOf } from '../tools/annotations.ts'
import { matches, wordsOf } from '../tools/filter.ts'
import type { DraftSelection } from './draft.ts'

export interface TreeTool {
  /** Public name. */
  readonly canonical_name: string
  readonly name: string
  readonly server: string
  readonly description?: string | undefined
  readonly enabled: boolean
  readonly tokens: number
  readonly flags: readonly Flag[]
  readonly changed_at?: string | undefined
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

export interface TreeServer {
  readonly name: string
  readonly status: ServerStatus
}

/** Server with all its tools and those that match the filter. */
export interface Branch {
  readonly server: TreeServer
  readonly names: readonly string[]
  readonly tools: readonly TreeTool[]
}

export const showOptions = ['all', 'chosen', 'read-only'] as const
export type Show = (typeof showOptions)[number]

/** Returns the tree of servers and tools. Servers without tools are included, since a group can include them. */
export function treeOf(
  servers: readonly TreeServer[],
  tools: readonly TreeTool[],
  filter: { readonly q: string; readonly show: Show },
  choice: DraftSelection
): Branch[] {
  const byServer = new Map<string, TreeTool[]>(servers.map(({ name }) => [name, []]))
  for (const tool of tools) byServer.get(tool.server)?.push(tool)
  const words = wordsOf(filter.q)
  const isShown = (tool: TreeTool) =>
    (filter.show !== 'chosen' || choice.includesTool(tool.server, tool.canonical_name)) &&
    (filter.show !== 'read-only' || annotationsOf(tool.annotations).includes('read-only'))
  return servers.flatMap((server) => {
    const all = byServer.get(server.name) ?? []
    const isNamed = words.length > 0 && matches(server.name, words)
    const shown = all.filter(
      (tool) => isShown(tool) && (isNamed || matches(`${tool.name}\n${tool.description ?? ''}`, words))
    )
    const isWanted = shown.length > 0 || isEmptyBranchShown(server.name, all, filter, isNamed, choice)
    return isWanted ? [{ server, names: all.map((tool) => tool.canonical_name), tools: shown }] : []
  })
}

function isEmptyBranchShown(
  server: string,
  all: readonly TreeTool[],
  { q, show }: { readonly q: string; readonly show: Show },
  isNamed: boolean,
  choice: DraftSelection
): boolean {
  if (show === 'chosen') return choice.includesServer(server) && (q === '' || isNamed)
  return show === 'all' && all.length === 0 && (q === '' || isNamed)
}
