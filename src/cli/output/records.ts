import type { Static } from '@sinclair/typebox'
import type { Client, User } from '../../schemas/principal.ts'
import type { Prompt } from '../../schemas/prompt.ts'
import type { Resource } from '../../schemas/resource.ts'
import type { Server } from '../../schemas/server.ts'
import type { ToolGroup } from '../../schemas/tool-group.ts'
import type { Tool } from '../../schemas/tool.ts'
import type { KindName } from '../io/kinds.ts'

/** List items of the gateway by kind. */
export interface Records {
  server: Static<typeof Server>
  tool: Static<typeof Tool>
  prompt: Static<typeof Prompt>
  resource: Static<typeof Resource>
  group: Static<typeof ToolGroup>
  client: Static<typeof Client>
  user: Static<typeof User>
}

export interface Column<T> {
  readonly head: string
  readonly value: (row: T) => string | undefined
  /** Shown with `-o wide` only. */
  readonly isWide?: boolean
}

const state = ({ enabled }: { enabled: boolean }) => (enabled ? 'enabled' : 'disabled')
const list = (names: readonly string[]) => names.join(', ')

const target = ({ url, command, args = [] }: Records['server']) => url ?? [command, ...args].join(' ')

const descriptionColumn = {
  head: 'description',
  value: ({ description }: { description?: string }) => description
}

/** Table columns by kind; a terminal may clip the last one. */
export const COLUMNS: { readonly [K in KindName]: readonly Column<Records[K]>[] } = {
  server: [
    { head: 'name', value: ({ name }) => name },
    { head: 'state', value: state },
    { head: 'transport', value: ({ transport }) => transport },
    { head: 'session mode', value: ({ session_mode }) => session_mode, isWide: true },
    {
      head: 'left out',
      value: ({ left_out_count: count }) => (count === undefined ? undefined : String(count)),
      isWide: true
    },
    { head: 'target', value: target },
    { ...descriptionColumn, isWide: true }
  ],
  tool: [
    { head: 'name', value: ({ name }) => name },
    { head: 'state', value: state },
    { head: 'title', value: ({ title }) => title as string | undefined, isWide: true },
    descriptionColumn
  ],
  prompt: [
    { head: 'name', value: ({ name }) => name },
    { head: 'state', value: state },
    { head: 'arguments', value: (prompt) => list((prompt.arguments ?? []).map(({ name }) => name)) },
    descriptionColumn
  ],
  resource: [
    { head: 'uri', value: ({ uri }) => uri },
    { head: 'state', value: state },
    { head: 'name', value: ({ name }) => name },
    { head: 'type', value: ({ mime_type }) => mime_type, isWide: true },
    descriptionColumn
  ],
  group: [
    { head: 'name', value: ({ name }) => name },
    { head: 'servers', value: ({ included_servers }) => list(included_servers) },
    { head: 'tools', value: ({ included_tools }) => list(included_tools) },
    { head: 'left out', value: ({ excluded_tools }) => list(excluded_tools) },
    { head: 'missing', value: ({ missing }) => list(missing), isWide: true },
    { ...descriptionColumn, isWide: true }
  ],
  client: [
    { head: 'name', value: ({ name }) => name },
    { head: 'allowed servers', value: ({ allowed_servers }) => list(allowed_servers) || 'none' },
    descriptionColumn
  ],
  user: [
    { head: 'name', value: ({ name }) => name },
    { head: 'role', value: ({ role }) => role }
  ]
}

/** Returns the identifier of a record: URI or name. */
export const labelOf = (record: { readonly name: string; readonly uri?: unknown }): string =>
  typeof record.uri === 'string' ? record.uri : record.name
