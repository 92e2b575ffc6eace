import type { Static } from '@sinclair/typebox'
import { isObject } from '../../domain/is-object.ts'
import { MAX_TIMER_MS } from '../../domain/timers.ts'
import type { ToolResult } from '../../schemas/tool.ts'
import type { EffectiveTools } from '../../schemas/tool-group.ts'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { formatContents } from '../output/contents.ts'
import { EXIT, notFound, usage } from '../io/failure.ts'
import { parsePairs, readText } from '../io/input.ts'
import { itemPath } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'

interface Flags {
  readonly input?: string
  readonly arg?: readonly string[]
  readonly group?: string
  readonly timeout?: string
  readonly save?: string
}

async function fromInput(cli: Cli, input: string): Promise<Record<string, unknown>> {
  const text = input === '-' || input.startsWith('@') ? await readText(cli.io, input.replace(/^@/, '')) : input
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw usage('--input is not valid JSON', `for example --input '{"a": 1}'`)
  }
  if (!isObject(value)) throw usage('--input must be a JSON object')
  return value
}

/** Parses an argument: text if the schema says string, else JSON if valid, else text. */
function parseArgument(text: string, schema: unknown): unknown {
  const type = isObject(schema) ? schema.type : undefined
  if (type === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function fromArgs(cli: Cli, name: string, given: readonly string[]): Promise<Record<string, unknown>> {
  const request = cli.api.get<Records['tool']>(withQuery('/api/v0/tool', { name }))
  const { input_schema } = (await withSuggestion(cli, 'tool', name, request)).body
  const schema: unknown = input_schema
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.fromEntries(
    parsePairs(given, '--arg').map(([key, value]) => [key, parseArgument(value, properties[key])])
  )
}

async function checkGroup(cli: Cli, group: string, name: string): Promise<void> {
  const request = cli.api.get<Static<typeof EffectiveTools>>(`${itemPath('group', group)}/effective-tools`)
  const { tools } = (await withSuggestion(cli, 'group', group, request)).body
  if (!tools.includes(name))
    throw notFound(`group "${group}" does not serve "${name}"`, `see \`towpath list tools --group ${group}\``)
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

function milliseconds(text: string): number {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? []
  const value = Math.round(Number(count) * units[unit]!)
  if (!(value > 0 && value <= MAX_TIMER_MS)) throw usage('--timeout must be a duration such as 60s, 500ms or 2m')
  return value
}

export const invoke: Action<Flags> = async (cli, [name = ''], flags) => {
  const timeoutMs = flags.timeout === undefined ? undefined : milliseconds(flags.timeout)
  if (flags.group !== undefined) await checkGroup(cli, flags.group, name)
  const args = {
    ...(flags.input === undefined ? {} : await fromInput(cli, flags.input)),
    ...(flags.arg === undefined ? {} : await fromArgs(cli, name, flags.arg))
  }
  const path = withQuery('/api/v0/tools/invoke', { arguments: 'object' })
  const request = cli.api.send<Static<typeof ToolResult>>('POST', path, { name, arguments: args }, { timeoutMs })
  const answer = await withSuggestion(cli, 'tool', name, request)
  const text = await formatContents(cli, answer.body.content, flags.save)
  await cli.show(answer, { table: () => text, names: () => [name] })
  return answer.body.isError ? EXIT.toolError : EXIT.done
}
