import { isStringArray } from '../../domain/is-object.ts'
import type { ServerSwitches, ServerSwitchesPatch } from '../../schemas/server.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import type { InputObject } from '../io/input.ts'
import { itemPath } from '../io/kinds.ts'

/** Switches of a file; every item that is not named is enabled. */
export type DesiredSwitches = {
  readonly enabled: boolean
  readonly disabled_tools: readonly string[]
  readonly disabled_prompts: readonly string[]
  readonly disabled_resources: readonly string[]
  readonly disabled_templates: readonly string[]
  readonly disabled_skills: readonly string[]
}

const lists = [
  ['disabled_tools', 'tools'],
  ['disabled_prompts', 'prompts'],
  ['disabled_resources', 'resources'],
  ['disabled_templates', 'templates'],
  ['disabled_skills', 'skills']
] as const
const members = ['enabled', ...lists.map(([list]) => list)]

/**
 * Splits the switches off a registration file, since they are not part of a registration. A file without any of their
 * members leaves the switches unchanged; a file with one of them defines all.
 */
export function splitSwitches({ value, from }: InputObject): { input: InputObject; switches?: DesiredSwitches } {
  if (!members.some((member) => member in value)) return { input: { value, from } }
  const rest = Object.fromEntries(Object.entries(value).filter(([member]) => !members.includes(member)))
  const { enabled = true } = value
  if (typeof enabled !== 'boolean') throw usage(`${from}: "enabled" must be true or false`)
  const listed = lists.map(([list]) => {
    const names = value[list] ?? []
    if (!isStringArray(names)) throw usage(`${from}: "${list}" must be a list of names`)
    return [list, [...new Set(names)]] as const
  })
  return { input: { value: rest, from }, switches: { enabled, ...Object.fromEntries(listed) } as DesiredSwitches }
}

/** Converts the gateway's record to the form of a file. */
function toFileForm(record: ServerSwitches): DesiredSwitches {
  const named = lists.map(([list, kind]) => [
    list,
    Object.entries(record[kind] ?? {}).flatMap(([name, enabled]) => (enabled ? [] : [name]))
  ])
  return { enabled: record.enabled, ...Object.fromEntries(named) } as DesiredSwitches
}

/** Returns the record in the form of a file, without empty lists. */
export const switchMembers = (record: ServerSwitches): Partial<DesiredSwitches> =>
  Object.fromEntries(
    Object.entries(toFileForm(record)).filter(([, value]) => !Array.isArray(value) || value.length > 0)
  )

/**
 * Returns the record in the form of a file, for comparison. A list that is equivalent to the desired one is returned as
 * the desired list, so that only real differences show.
 */
export function currentSwitches(desired: DesiredSwitches, record: ServerSwitches): DesiredSwitches {
  const { patch = {} } = switchPatch(desired, record)
  const same = lists.flatMap(([list, kind]) => (patch[kind] === undefined ? [[list, desired[list]] as const] : []))
  return { ...toFileForm(record), ...Object.fromEntries(same) }
}

/**
 * Returns the patch that makes the record as desired (undefined if equal), and the `unknown` items, which the server
 * does not currently offer.
 */
export function switchPatch(desired: DesiredSwitches, record: ServerSwitches) {
  const unknown: string[] = []
  const patch: Record<string, unknown> = {}
  if (desired.enabled !== record.enabled) patch.enabled = desired.enabled
  for (const [list, kind] of lists) {
    const offered = record[kind] ?? {}
    const disabled = new Set(desired[list])
    unknown.push(
      ...desired[list].filter((name) => !Object.hasOwn(offered, name)).map((name) => `${kind.slice(0, -1)} ${name}`)
    )
    const differing = Object.entries(offered).filter(([name, enabled]) => enabled === disabled.has(name))
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

/** Sets the switches that differ and warns of items that the server does not offer. Does nothing without `desired`. */
export async function setSwitches(cli: Cli, name: string, desired: DesiredSwitches | undefined): Promise<void> {
  if (!desired) return
  const { patch, unknown } = switchPatch(desired, await readSwitches(cli, name))
  if (unknown.length > 0) cli.warn(`server "${name}" does not currently offer: ${unknown.join(', ')}`)
  if (patch) await cli.api.send('PATCH', path(name), patch)
}
