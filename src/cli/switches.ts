import type { ServerSwitches, ServerSwitchesPatch } from '../schemas/server.ts'
import type { Cli } from './cli.ts'
import { usage } from './failure.ts'
import type { Given } from './input.ts'
import { itemPath } from './kinds.ts'

/** What a file says of what is enabled: all that is not named is. */
export type WantedSwitches = {
  readonly enabled: boolean
  readonly disabled_tools: readonly string[]
  readonly disabled_prompts: readonly string[]
  readonly disabled_resources: readonly string[]
  readonly disabled_templates: readonly string[]
}

const lists = [
  ['disabled_tools', 'tools'],
  ['disabled_prompts', 'prompts'],
  ['disabled_resources', 'resources'],
  ['disabled_templates', 'templates']
] as const
const members = ['enabled', ...lists.map(([list]) => list)]

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/**
 * Takes the switches out of a registration file, since they are no part of a registration. A file that has none of their
 * members leaves them as they are; one that has one of them says all about them.
 */
export function takeSwitches({ value, from }: Given): { given: Given; switches?: WantedSwitches } {
  if (!members.some((member) => member in value)) return { given: { value, from } }
  const rest = Object.fromEntries(Object.entries(value).filter(([member]) => !members.includes(member)))
  const { enabled = true } = value
  if (typeof enabled !== 'boolean') throw usage(`${from}: "enabled" must be true or false`)
  const listed = lists.map(([list]) => {
    const names = value[list] ?? []
    if (!isTexts(names)) throw usage(`${from}: "${list}" must be a list of names`)
    return [list, [...new Set(names)]] as const
  })
  return { given: { value: rest, from }, switches: { enabled, ...Object.fromEntries(listed) } as WantedSwitches }
}

/** What the gateway says, in the words of a file. */
function wordsOf(record: ServerSwitches): WantedSwitches {
  const named = lists.map(([list, kind]) => [
    list,
    Object.entries(record[kind] ?? {}).flatMap(([name, enabled]) => (enabled ? [] : [name]))
  ])
  return { enabled: record.enabled, ...Object.fromEntries(named) } as WantedSwitches
}

/** The members of a file that say the same as the gateway; lists that would be empty are left out. */
export const switchMembers = (record: ServerSwitches): Partial<WantedSwitches> =>
  Object.fromEntries(Object.entries(wordsOf(record)).filter(([, value]) => !Array.isArray(value) || value.length > 0))

/** As above, to be held against what is wanted: a list that says the same in another way is the wanted one. */
export function switchesBefore(wanted: WantedSwitches, record: ServerSwitches): WantedSwitches {
  const { patch = {} } = switchPatch(wanted, record)
  const same = lists.flatMap(([list, kind]) => (patch[kind] === undefined ? [[list, wanted[list]] as const] : []))
  return { ...wordsOf(record), ...Object.fromEntries(same) }
}

/** What differs from what is wanted; undefined for nothing. `unknown`: what the server does not offer at present. */
export function switchPatch(wanted: WantedSwitches, record: ServerSwitches) {
  const unknown: string[] = []
  const patch: Record<string, unknown> = {}
  if (wanted.enabled !== record.enabled) patch.enabled = wanted.enabled
  for (const [list, kind] of lists) {
    const known = record[kind] ?? {}
    const disabled = new Set(wanted[list])
    unknown.push(
      ...wanted[list].filter((name) => !Object.hasOwn(known, name)).map((name) => `${kind.slice(0, -1)} ${name}`)
    )
    const differing = Object.entries(known).filter(([name, enabled]) => enabled === disabled.has(name))
    if (differing.length > 0) patch[kind] = Object.fromEntries(differing.map(([name, enabled]) => [name, !enabled]))
  }
  return {
    patch: Object.keys(patch).length > 0 ? (patch as ServerSwitchesPatch) : undefined,
    unknown
  }
}

const path = (name: string) => `${itemPath('server', name)}/switches`

export const readSwitches = async (cli: Cli, name: string): Promise<ServerSwitches> =>
  (await cli.api.get<ServerSwitches>(path(name))).body

/** Sets what differs; says what cannot be set. Undefined: nothing is wanted. */
export async function setSwitches(cli: Cli, name: string, wanted: WantedSwitches | undefined): Promise<void> {
  if (!wanted) return
  const { patch, unknown } = switchPatch(wanted, await readSwitches(cli, name))
  if (unknown.length > 0) cli.warn(`server "${name}" does not offer at present: ${unknown.join(', ')}`)
  if (patch) await cli.api.send('PATCH', path(name), patch)
}
