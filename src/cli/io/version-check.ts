import type { Static } from '@sinclair/typebox'
import { VERSION } from '../../domain/version.ts'
import type { Metadata } from '../../schemas/system.ts'
import type { Cli } from './cli.ts'
import { Failure } from './failure.ts'

const minor = (version: string) => version.split('.').slice(0, 2).join('.')

/** Returns a warning if the minor versions of gateway and command differ, and they may be incompatible. */
export const versionMismatch = (gateway: string): { readonly message: string; readonly hint: string } | undefined =>
  minor(gateway) === minor(VERSION)
    ? undefined
    : {
        message: `this command has version ${VERSION}, the gateway has ${gateway}`,
        hint: 'use a command of the same version as the gateway'
      }

/** True for errors by which a gateway of another version answers an unknown request. */
const mayBeVersionMismatch = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'http_400' || error.code === 'http_404')

/**
 * Warns of a version mismatch after a request that was not understood. Checked only then, to save a request per
 * command.
 */
export async function warnOfVersionMismatch(cli: Cli, error: unknown): Promise<void> {
  if (!mayBeVersionMismatch(error)) return
  const metadata = cli.api.send<Static<typeof Metadata>>('GET', '/metadata', undefined, { timeoutMs: 2_000 })
  const version = await metadata.then(({ body }) => body.version).catch(() => undefined)
  const skew = typeof version === 'string' ? versionMismatch(version) : undefined
  if (skew) cli.warn(skew.message, skew.hint)
}
