import type { Static } from '@sinclair/typebox'
import { isLoopback } from '../../domain/network/loopback.ts'
import type { Check } from '../../schemas/check.ts'
import type { Metadata } from '../../schemas/system.ts'
import type { ApiResponse } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { readFileAccess } from '../io/config-file.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { versionMismatch } from '../io/version-check.ts'
import { accountPath } from '../io/account-file.ts'

/** Tolerance: a `Date` header has whole seconds and is set when the response starts. */
const CLOCK_MS = 5_000

/** Runs the checks on the client side, and whether the gateway answers. */
export async function checkClient(cli: Cli): Promise<{ checks: Check[]; isReached: boolean }> {
  const account =
    cli.connection.tokenSource === 'sign-in' ? [await checkFile('account_file', accountPath(cli.io.home))] : []
  const localChecks = [await checkFile('config_file', cli.configPath), ...account, checkToken(cli)]
  const since = performance.now()
  try {
    const answer = await cli.api.get<Static<typeof Metadata>>('/metadata')
    const ms = Math.round(performance.now() - since)
    const title = `${cli.api.registry} answers (set by ${sources[cli.connection.source]})`
    const reached: Check = { id: 'registry', status: 'pass', title, ms }
    return {
      checks: [...localChecks, reached, checkVersion(answer.body.version), ...checkClock(answer)],
      isReached: true
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { message: title, hint, exitCode } = error
    const failed: Check = { id: 'registry', status: 'fail', title, ...(hint === undefined ? {} : { hint }) }
    return { checks: [...localChecks, failed], isReached: exitCode !== EXIT.unreachable }
  }
}

const sources: Readonly<Record<Cli['connection']['source'], string>> = {
  '--registry': '--registry',
  TOWPATH_REGISTRY: 'TOWPATH_REGISTRY',
  file: '~/.towpath.conf',
  default: 'default'
}

/** Checks the owner and mode of a file: others must not read its tokens or replace the gateway's URL. */
async function checkFile(id: string, path: string): Promise<Check> {
  const access = await readFileAccess(path)
  if (access === undefined) return { id, status: 'pass', title: `${path} does not exist` }
  if (!access.isOwn)
    return { id, status: 'warn', title: `${path} belongs to another user`, hint: 'change its owner, or remove it' }
  if (access.mode === undefined || (access.mode & 0o077) === 0)
    return { id, status: 'pass', title: `${path} is accessible to its owner only` }
  const title = `${path} is accessible to other users (mode ${access.mode.toString(8).padStart(4, '0')})`
  return { id, status: 'fail', title, hint: `chmod 600 ${path}` }
}

function checkToken({ connection: { tokenSource, registry } }: Cli): Check {
  const id = 'token_source'
  const from = tokenSource === 'file' ? '~/.towpath.conf' : tokenSource === 'sign-in' ? '`towpath login`' : tokenSource
  const title = from === undefined ? 'No access token is set' : `The access token comes from ${from}`
  const { protocol, hostname } = new URL(registry)
  const isOpen = from !== undefined && protocol === 'http:' && !isLoopback(hostname)
  if (!isOpen) return { id, status: 'pass', title }
  const detail = `${registry} does not use TLS: the token can be read in transit`
  return { id, status: 'warn', title, detail, hint: 'use https://' }
}

function checkVersion(version: string): Check {
  const id = 'version'
  const skew = versionMismatch(version)
  if (!skew) return { id, status: 'pass', title: `Command and gateway have version ${version}` }
  return { id, status: 'warn', title: skew.message, hint: skew.hint }
}

function checkClock({ headers }: ApiResponse<unknown>): Check[] {
  const date = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(date)) return []
  const apart = Math.abs(Date.now() - date)
  const id = 'client_clock'
  if (apart <= CLOCK_MS) return [{ id, status: 'pass', title: 'The clocks of this machine and the gateway agree' }]
  const title = `The clocks of this machine and the gateway are ${Math.round(apart / 1_000)} s apart`
  return [{ id, status: 'warn', title, hint: 'synchronise both with NTP' }]
}
