import { toServerName } from '../names.ts'
import { fillCommand, planCommand, type CommandPlan } from './command.ts'
import { checkValues, fillSlot, splitTemplate, toSlot } from './slots.ts'
import type { Inputs, InstallInput, InstallValues, Piece, Slot, ValueFindings } from './slots.ts'
import { publisherOf, type CatalogueEntry, type EntryRemote } from './entry.ts'

/** Remote server with places for values */
interface RemotePlan {
  readonly inputs: Inputs
  readonly transport: 'streamable_http' | 'sse'
  readonly url: readonly Piece[]
  readonly headers: readonly (readonly [name: string, slot: Slot])[]
}

/** One way to install a server: a package or a remote address */
export interface InstallOption {
  /** Unique within the entry: `npm`, `pypi`, `oci`, `nuget`, `remote`; further ones of a kind have a number, `npm-2` */
  readonly id: string
  /** Package with its version, or URL template */
  readonly target: string
  /** Reason why the gateway cannot install it */
  readonly problem?: string
  readonly inputs: readonly InstallInput[]
  readonly plan?: { readonly command: CommandPlan } | { readonly remote: RemotePlan }
}

/** Members of a registration (http-contract.md#registration-input), except the name */
export type InstallMembers =
  | {
      readonly transport: 'stdio'
      readonly description: string
      readonly command: string
      readonly args: readonly string[]
      readonly env?: Readonly<Record<string, string>>
    }
  | {
      readonly transport: 'streamable_http' | 'sse'
      readonly description: string
      readonly url: string
      readonly headers?: Readonly<Record<string, string>>
    }

export interface InstallResult {
  readonly members: InstallMembers
  /** Names of required inputs without a value */
  readonly missing: readonly string[]
  /** Problems of given values */
  readonly problems: readonly string[]
}

function planRemote({ type, url, variables = {}, headers = [] }: EntryRemote): RemotePlan {
  const inputs: Inputs = new Map()
  return {
    inputs,
    transport: type === 'sse' ? 'sse' : 'streamable_http',
    url: splitTemplate(url, variables, { label: 'address' }, inputs),
    headers: headers.map(
      (header) => [header.name, toSlot(header.name, header, { label: header.name }, inputs)] as const
    )
  }
}

/** Fills the address; values in the query are encoded. */
function fillUrl({ url, inputs }: RemotePlan, values: InstallValues, findings: ValueFindings): string {
  let isQuery = false
  return url
    .map((piece) => {
      if (typeof piece === 'string') {
        isQuery ||= piece.includes('?')
        return piece
      }
      const slot: Slot = { pieces: [piece], isRequired: true, isRepeated: false }
      return fillSlot(slot, inputs, values, findings, isQuery ? encodeURIComponent : undefined)[0] ?? ''
    })
    .join('')
}

function fillRemote(plan: RemotePlan, values: InstallValues, findings: ValueFindings) {
  const { inputs, transport } = plan
  checkValues(inputs, values, findings)
  const url = fillUrl(plan, values, findings)
  const headers = Object.fromEntries(
    plan.headers.flatMap(([name, slot]) =>
      fillSlot(slot, inputs, values, findings).map((text) => [name, text] as const)
    )
  )
  return { transport, url, ...(Object.keys(headers).length > 0 ? { headers } : {}) }
}

/** Gives each option an id of its own. */
function numbered<T extends { readonly id: string }>(options: readonly T[]): T[] {
  const counts = new Map<string, number>()
  return options.map((option) => {
    const count = (counts.get(option.id) ?? 0) + 1
    counts.set(option.id, count)
    return count === 1 ? option : { ...option, id: `${option.id}-${count}` }
  })
}

/**
 * Returns the ways to install a server. Remote addresses come first, since they need no local process:
 * `streamable-http` before `sse`, then the packages in their order.
 */
export function installOptions({ packages, remotes }: CatalogueEntry): InstallOption[] {
  const sorted = remotes.toSorted((a, b) => Number(a.type === 'sse') - Number(b.type === 'sse'))
  return numbered([
    ...sorted.map((item): InstallOption => {
      const remote = planRemote(item)
      return { id: 'remote', target: item.url, inputs: [...remote.inputs.values()], plan: { remote } }
    }),
    ...packages.map((item): InstallOption => {
      const { registryType: id, identifier, version } = item
      const command = planCommand(item)
      if (typeof command === 'string') {
        return { id, target: [identifier, version].filter(Boolean).join(' '), problem: command, inputs: [] }
      }
      return { id, target: command.target, inputs: [...command.inputs.values()], plan: { command } }
    })
  ])
}

/** Fills in the values of an option and returns the members of its registration. The option must have a plan. */
export function fillOption(option: InstallOption, description: string, values: InstallValues): InstallResult {
  const missing = new Set<string>()
  const problems: string[] = []
  const findings = { missing, problems }
  const { plan } = option
  if (!plan) throw new TypeError(`the option "${option.id}" cannot be installed`)
  if ('remote' in plan) {
    const members = { ...fillRemote(plan.remote, values, findings), description }
    return { members, missing: [...missing], problems }
  }
  const { command, args, env } = fillCommand(plan.command, values, findings)
  const members = {
    transport: 'stdio' as const,
    description,
    command,
    args,
    ...(Object.keys(env).length > 0 ? { env } : {})
  }
  return { members, missing: [...missing], problems }
}

/** Words of names that do not identify a server */
const noise = /^(mcp|server|mcpserver|com|org|net|io|dev|ai|app|github|gitlab)$/i

const tellingWords = (text: string) => text.split(/[-_.]/).filter((word) => word !== '' && !noise.test(word))

/** Suggests a server name: `io.github.owner/files-mcp-server` → `files`, `com.example/mcp` → `example`. */
export function suggestServerName(name: string): string {
  const own = tellingWords(name.slice(name.indexOf('/') + 1))
  return toServerName((own.length > 0 ? own : tellingWords(publisherOf(name)).slice(-1)).join('-'))
}
