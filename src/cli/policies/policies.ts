import type { Static } from '@sinclair/typebox'
import { isObject } from '../../domain/is-object.ts'
import type { Policy, PolicyCheck, PolicyDecision } from '../../schemas/policy.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, usage } from '../io/failure.ts'
import { readObject, readObjects } from '../io/input.ts'
import type { Action } from '../io/runner.ts'
import { namesView, recordView, rowsView } from '../output/views.ts'

const PATH = '/api/v0/policies'

interface FileFlags {
  readonly conf: string
}

interface WhyFlags {
  readonly client?: boolean
  readonly kind: string
  readonly input?: string
  readonly scopes?: string
  readonly group?: string
  readonly conf?: string
}

const pathOf = (name: string) => `${PATH}/${encodeURIComponent(name)}`

async function readPolicy(cli: Cli, { conf }: FileFlags): Promise<{ name: string; value: object }> {
  const { value } = await readObject(cli.io, conf)
  if (typeof value.name !== 'string') throw usage(`${conf} has no "name"`)
  return { name: value.name, value }
}

const textOf = (value: object): string => {
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return members.length === 0
    ? 'all'
    : members.map(([key, member]) => `${key}: ${[member].flat().join(', ')}`).join('; ')
}

export const listPolicies: Action = async (cli) => {
  const answer = await cli.api.get<readonly Policy[]>(PATH)
  const columns = [
    { head: 'name', value: ({ name }: Policy) => name },
    { head: 'effect', value: ({ effect }: Policy) => effect },
    { head: 'mode', value: ({ enabled, mode }: Policy) => (enabled ? mode : 'off') },
    { head: 'callers', value: ({ subjects }: Policy) => textOf(subjects) },
    { head: 'items', value: ({ targets: { annotations, ...lists } }: Policy) => textOf({ ...lists, ...annotations }) },
    { head: 'when', value: ({ when }: Policy) => when },
    { head: 'source', value: ({ source }: Policy) => source, isWide: true }
  ]
  await cli.show(
    answer,
    rowsView(columns, answer.body, ({ name }) => name)
  )
}

export const getPolicy: Action = async (cli, [name = '']) => {
  const answer = await cli.api.get<Policy>(pathOf(name))
  await cli.show(answer, recordView(answer.body))
}

export const createPolicy: Action<FileFlags> = async (cli, _args, flags) => {
  const { name, value } = await readPolicy(cli, flags)
  const answer = await cli.api.post<Policy>(PATH, value)
  cli.note(`created policy "${name}"`)
  await cli.show(answer, recordView(answer.body))
}

export const updatePolicy: Action<FileFlags> = async (cli, _args, flags) => {
  const { name, value } = await readPolicy(cli, flags)
  const answer = await cli.api.put<Policy>(pathOf(name), value)
  cli.note(`updated policy "${name}"`)
  await cli.show(answer, recordView(answer.body))
}

export const deletePolicy: Action = async (cli, [name = '']) => {
  await cli.api.remove(pathOf(name))
  cli.note(`deleted policy "${name}"`)
}

export const validatePolicy: Action<FileFlags> = async (cli, _args, flags) => {
  const { value } = await readPolicy(cli, flags)
  const answer = await cli.api.post<Static<typeof PolicyCheck>>(`${PATH}/validate`, value)
  const { valid, problems } = answer.body
  if (valid) cli.note('valid')
  await cli.show(answer, namesView(problems))
  return valid ? EXIT.done : EXIT.failed
}

function checkInput(input: string): void {
  try {
    if (isObject(JSON.parse(input))) return
  } catch {
    // reported like any other text that is no object
  }
  throw usage('--input must be a JSON object', `for example --input '{"a": 1}'`)
}

/** Returns a trial with the arguments as they were given: calls are refused for some that parsing would change. */
function withArguments(trial: object, input: string | undefined): string {
  const text = JSON.stringify(trial)
  if (input === undefined) return text
  checkInput(input)
  return `${text.slice(0, -1)},"args":${input}}`
}

export const explainPolicies: Action<WhyFlags> = async (cli, [caller = '', name = ''], flags) => {
  const { client, kind, input, scopes, group, conf } = flags
  const policies = conf === undefined ? undefined : (await readObjects(cli.io, conf)).map(({ value }) => value)
  const trial = {
    ...{ [client ? 'client' : 'user']: caller, kind, name },
    ...{ scopes: scopes?.split(',').map((scope) => scope.trim()), endpoint: group, with: policies }
  }
  const answer = await cli.api.post<PolicyDecision>(`${PATH}/simulate`, undefined, {
    bodyText: withArguments(trial, input)
  })
  const { matched, ...decision } = answer.body
  const lines = matched.map(({ policy, effect, mode, condition, missing_scopes: missing }) => {
    const when = condition === undefined ? '' : `, condition: ${condition}`
    const scopes =
      missing === undefined ? '' : `, ${missing.length > 0 ? `lacks ${missing.join(', ')}` : 'has its scopes'}`
    return `${policy} (${effect}, ${mode}${when}${scopes})`
  })
  await cli.show(answer, recordView({ ...decision, matched: lines }, decision.decision))
}
