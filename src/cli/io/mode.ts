import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'

/** True in enterprise mode, which needs tokens. Only the kind of refusal of this request matters. */
export async function needsToken(cli: Cli): Promise<boolean> {
  try {
    await cli.api.get('/api/v0/users/whoami')
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error
    return error.code !== ENTERPRISE_MODE_ONLY
  }
  return true
}
