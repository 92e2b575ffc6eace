import type { Static } from '@sinclair/typebox'
import { ENTERPRISE_MODE_ONLY, NOT_INITIALIZED } from '../../domain/error-codes.ts'
import { VERSION } from '../../domain/version.ts'
import type { User } from '../../schemas/principal.ts'
import type { Metadata } from '../../schemas/system.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { KINDS, type KindName } from '../io/kinds.ts'
import type { Action } from '../io/runner.ts'
import { versionMismatch } from '../io/version-check.ts'
import { recordView } from '../output/views.ts'

async function gatewayVersion(cli: Cli): Promise<string> {
  const { version } = (await cli.api.get<Static<typeof Metadata>>('/metadata')).body
  const skew = versionMismatch(version)
  if (skew) cli.warn(skew.message, skew.hint)
  return version
}

/** Returns the Failure instead of throwing if the gateway refuses: other mode, or missing rights. */
async function unlessRefused<T>(work: Promise<T>): Promise<T | Failure> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.refused) return error
    throw error
  }
}

/** Reads mode and identity; development mode has no users. */
async function readIdentity(cli: Cli) {
  const answer = await unlessRefused(cli.api.get<Static<typeof User>>('/api/v0/users/whoami'))
  if (!(answer instanceof Failure)) {
    const { name, role } = answer.body
    return { mode: 'enterprise', initialized: true, name, role }
  }
  if (answer.code === ENTERPRISE_MODE_ONLY) return { mode: 'development', initialized: true }
  return { mode: 'enterprise', initialized: answer.code !== NOT_INITIALIZED, refusal: answer }
}

async function count(cli: Cli, kind: KindName): Promise<number | undefined> {
  const answer = await unlessRefused(cli.api.get<readonly unknown[]>(KINDS[kind].path))
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
  const { refusal, ...who } = { refusal: undefined, ...(await readIdentity(cli)) }
  const body: Record<string, unknown> = { registry: cli.api.registry, version, ready, ...who }
  const kinds = refusal ? [] : (['server', 'tool', 'prompt', 'resource', 'group', 'client', 'user'] as const)
  const counts = await Promise.all(
    kinds.map(async (kind) => [KINDS[kind].path.split('/').at(-1)!, await count(cli, kind)] as const)
  )
  for (const [name, number] of counts) if (number !== undefined) body[name.replaceAll('-', '_')] = number
  await cli.show({ body }, recordView(body, cli.api.registry))
  // `status` succeeds on an uninitialised gateway, but fails for a rejected token
  if (refusal && who.initialized) throw refusal
  if (refusal) cli.note(`hint: ${refusal.hint ?? ''}`)
  return ready ? EXIT.done : EXIT.failed
}

export const version: Action = async (cli) => {
  const body: { towpath: string; gateway?: string } = { towpath: VERSION }
  try {
    body.gateway = await gatewayVersion(cli)
  } catch (error) {
    // shows the command's own version without a gateway too
    if (!(error instanceof Failure)) throw error
    cli.note(`gateway not available: ${error.message}`)
  }
  await cli.show({ body }, recordView(body, VERSION))
}
