import { definitionLabel } from '../../domain/definitions/shown.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Definition, Lock, Pins } from '../../schemas/definition.ts'
import type { Static } from '@sinclair/typebox'
import type { Cli } from '../io/cli.ts'
import { Failure, EXIT } from '../io/failure.ts'
import { readDefinitions } from '../definitions/read.ts'

/** Fingerprints by kind and name, such as `tool add` */
export type PinsOfFile = Static<typeof Pins>

/** The pins of a server in a file that differ, with what the gateway has instead. */
export interface PinDifference {
  readonly before: PinsOfFile
  readonly after: PinsOfFile
}

const keyOf = ({ kind, name }: Definition) => `${kind} ${name}`
const MAX_NAMED = 10

const waiting = async (cli: Cli, server: string) => [
  ...(await readDefinitions(cli, 'held', server)),
  ...(await readDefinitions(cli, 'rejected', server))
]

/**
 * Compares the pins of a file with those of a registered server. An item that the server does not list at present is no
 * difference: nothing of it can be accepted.
 */
export async function comparePins(cli: Cli, server: string, pins: PinsOfFile): Promise<PinDifference | undefined> {
  const { servers } = (await cli.api.get<Lock>('/api/v0/definitions/lock')).body
  const current = servers[server]?.pins ?? {}
  const unknown = Object.keys(pins).some((key) => current[key] === undefined)
  const added = new Set(unknown ? (await waiting(cli, server)).map(keyOf) : [])
  const keys = Object.keys(pins).filter((key) =>
    current[key] === undefined ? added.has(key) : current[key] !== pins[key]
  )
  if (keys.length === 0) return undefined
  const pick = (from: PinsOfFile) =>
    Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])))
  return { before: pick(current), after: pick(pins) }
}

/** Throws a Failure that names what of a server is held although its file has pins. */
export async function checkHeld(cli: Cli, server: string): Promise<void> {
  const held = await waiting(cli, server)
  if (held.length === 0) return
  const names = held.slice(0, MAX_NAMED).map((item) => escapeText(definitionLabel(item), 200))
  const rest = held.length > MAX_NAMED ? ` and ${held.length - MAX_NAMED} more` : ''
  throw new Failure(EXIT.held, `held, because the file has other pins or none: ${names.join(', ')}${rest}`, {
    code: 'definitions_held',
    hint: `towpath definitions --held --server ${server}`
  })
}
