import type { Static } from '@sinclair/typebox'
import { VERSION } from '../domain/version.ts'
import type { Metadata } from '../schemas/system.ts'
import type { Cli } from './cli.ts'
import { Failure } from './failure.ts'

const minor = (version: string) => version.split('.').slice(0, 2).join('.')

/** Whether a gateway of this version and this command may understand each other wrongly: what to say then. */
export const skewWith = (gateway: string): { readonly message: string; readonly hint: string } | undefined =>
  minor(gateway) === minor(VERSION)
    ? undefined
    : {
        message: `this command is version ${VERSION}, the gateway ${gateway}`,
        hint: 'use the command of the gateway’s version'
      }

/** What a gateway of another version answers to a request that it does not know. */
const isDoubtful = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'http_400' || error.code === 'http_404')

/** Where a request was not understood, the versions may be why: asked only then, so that no command asks twice. */
export async function warnOfSkew(cli: Cli, error: unknown): Promise<void> {
  if (!isDoubtful(error)) return
  const metadata = cli.api.send<Static<typeof Metadata>>('GET', '/metadata', undefined, { timeoutMs: 2_000 })
  const version = await metadata.then(({ body }) => body.version).catch(() => undefined)
  const skew = typeof version === 'string' ? skewWith(version) : undefined
  if (skew) cli.warn(skew.message, skew.hint)
}
