import type { Static } from '@sinclair/typebox'
import { VERSION } from '../../domain/version.ts'
import type { User } from '../../schemas/principal.ts'
import type { Metadata } from '../../schemas/system.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { KINDS, type KindName } from '../kinds.ts'
import type { Action } from '../runner.ts'
import { skewWith } from '../skew.ts'
import { recordView } from '../views.ts'

async function gatewayVersion(cli: Cli): Promise<string> {
  const { version } = (await cli.api.get<Static<typeof Metadata>>('/metadata')).body
  const skew = skewWith(version)
  if (skew) cli.warn(skew.message, skew.hint)
  return version
}

/** Undefined where the gateway says that this is not for us: another mode, or not our rights. */
async function allowed<T>(work: Promise<T>): Promise<T | Failure> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.refused) return error
    throw error
  }
}

/** Development mode has no users. */
async function whoIs(cli: Cli) {
  const answer = await allowed(cli.api.get<Static<typeof User>>('/api/v0/users/whoami'))
  if (!(answer instanceof Failure)) {
    const { name, role } = answer.body
    return { mode: 'enterprise', initialized: true, name, role }
  }
  if (/only in enterprise mode/.test(answer.message)) return { mode: 'development', initialized: true }
  const isEmpty = /not initialized/.test(answer.message)
  return { mode: 'enterprise', initialized: !isEmpty, refusal: answer }
}

async function count(cli: Cli, kind: KindName): Promise<number | undefined> {
  const answer = await allowed(cli.api.get<readonly unknown[]>(KINDS[kind].path))
  return answer instanceof Failure ? undefined : answer.body.length
}

async function isReady(cli: Cli): Promise<boolean> {
  try {
    await cli.api.get('/ready')
    return true
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.failed) return false
    throw error
  }
}

export const status: Action = async (cli) => {
  const version = await gatewayVersion(cli)
  const ready = await isReady(cli)
  const { refusal, ...who } = { refusal: undefined, ...(await whoIs(cli)) }
  const body: Record<string, unknown> = { registry: cli.api.registry, version, ready, ...who }
  const kinds = refusal ? [] : (['server', 'tool', 'prompt', 'resource', 'group', 'client', 'user'] as const)
  const counts = await Promise.all(
    kinds.map(async (kind) => [KINDS[kind].path.split('/').at(-1)!, await count(cli, kind)] as const)
  )
  for (const [name, number] of counts) if (number !== undefined) body[name.replaceAll('-', '_')] = number
  await cli.show({ body }, recordView(body, cli.api.registry))
  // an empty gateway is no failure of this question; a token that is not taken is
  if (refusal && who.initialized) throw refusal
  if (refusal) cli.note(`hint: ${refusal.hint ?? ''}`)
  return ready ? EXIT.done : EXIT.failed
}

export const version: Action = async (cli) => {
  const body: { towpath: string; gateway?: string } = { towpath: VERSION }
  try {
    body.gateway = await gatewayVersion(cli)
  } catch (error) {
    // its own version is told without a gateway too
    if (!(error instanceof Failure)) throw error
    cli.note(`no gateway: ${error.message}`)
  }
  await cli.show({ body }, recordView(body, VERSION))
}
