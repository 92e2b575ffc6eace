import type { Static } from '@sinclair/typebox'
import type { Client, User } from '../../schemas/principal.ts'
import type { Prompt } from '../../schemas/prompt.ts'
import type { Resource } from '../../schemas/resource.ts'
import type { Skill } from '../../schemas/skill.ts'
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
  skill: Static<typeof Skill>
  group: Static<typeof ToolGroup>
  client: Static<typeof Client>
  user: Static<typeof User>
}

export interface Column<T> {
  readonly head: string
  readonly value: (row: T) => string | undefined
  /** Shown with `-o wide` only. */
  readonly isWide?: boolean
  /** Colour of the cell on a terminal; undefined for none. */
  readonly colour?: (row: T) => Colour | undefined
}

/** Meaning of a state, as a colour: works, needs attention, broken, off. */
export type Colour = 'green' | 'yellow' | 'red' | 'dim'

const state = ({ enabled }: { enabled: boolean }) => (enabled ? 'enabled' : 'disabled')
const list = (names: readonly string[]) => names.join(', ')

const stateColour = ({ enabled }: { enabled: boolean }): Colour | undefined => (enabled ? undefined : 'dim')
type Status = NonNullable<Records['server']['health']>['status']
/** Colours of the statuses of servers. */
const statusColours: Readonly<Record<Status, Colour>> = {
  connected: 'green',
  connecting: 'yellow',
  sign_in_needed: 'yellow',
  failing: 'red',
  disabled: 'dim',
  unknown: 'dim'
}
/** Colour of a status on a terminal. */
export const statusColour = (status: Status): Colour => statusColours[status]
const statusOf = ({ enabled, health }: Records['server']): Status =>
  health?.status ?? (enabled ? 'unknown' : 'disabled')
const milliseconds = (ms: number | undefined) => (ms === undefined ? undefined : `${Math.round(ms)} ms`)

const target = ({ url, command, args = [] }: Records['server']) => url ?? [command, ...args].join(' ')

const descriptionColumn = {
  head: 'description',
  value: ({ description }: { description?: string }) => description
}

/** Table columns by kind; a terminal may clip the last one. */
export const COLUMNS: { readonly [K in KindName]: readonly Column<Records[K]>[] } = {
  server: [
    { head: 'name', value: ({ name }) => name },
    {
      head: 'status',
      value: (server) => statusOf(server).replaceAll('_', ' '),
      colour: (server) => statusColour(statusOf(server))
    },
    { head: 'tools', value: ({ health }) => health && String(health.tool_count) },
    { head: 'calls', value: ({ health }) => health?.calls_24h && String(health.calls_24h.calls) },
    { head: 'p95', value: ({ health }) => milliseconds(health?.calls_24h?.p95_ms) },
    { head: 'transport', value: ({ transport }) => transport, isWide: true },
    { head: 'session mode', value: ({ session_mode }) => session_mode, isWide: true },
    {
      head: 'left out',
      value: ({ left_out_count: count }) => (count === undefined ? undefined : String(count)),
      isWide: true
    },
    { head: 'target', value: target },
    { head: 'last error', value: ({ health }) => health?.last_error, isWide: true },
    { ...descriptionColumn, isWide: true }
  ],
  tool: [
    { head: 'name', value: ({ name }) => name },
    { head: 'state', value: state, colour: stateColour },
    { head: 'title', value: ({ title }) => title as string | undefined, isWide: true },
    descriptionColumn
  ],
  prompt: [
    { head: 'name', value: ({ name }) => name },
    { head: 'state', value: state, colour: stateColour },
    { head: 'arguments', value: (prompt) => list((prompt.arguments ?? []).map(({ name }) => name)) },
    descriptionColumn
  ],
  resource: [
    { head: 'uri', value: ({ uri }) => uri },
    { head: 'state', value: state, colour: stateColour },
    { head: 'name', value: ({ name }) => name },
    { head: 'type', value: ({ mime_type }) => mime_type, isWide: true },
    descriptionColumn
  ],
  skill: [
    { head: 'uri', value: ({ uri }) => uri },
    { head: 'state', value: state, colour: stateColour },
    { head: 'files', value: ({ resources }) => (resources === 'dynamic' ? 'dynamic' : String(resources.length)) },
    { head: 'name', value: ({ name }) => name, isWide: true },
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
    { head: 'role', value: ({ role }) => role },
    {
      head: 'state',
      value: ({ suspended }) => (suspended ? 'suspended' : 'active'),
      colour: ({ suspended }) => (suspended ? 'dim' : undefined)
    }
  ]
}

/** Returns the identifier of a record: URI or name. */
export const labelOf = (record: { readonly name: string; readonly uri?: unknown }): string =>
  typeof record.uri === 'string' ? record.uri : record.name
