import type { Static } from '@sinclair/typebox'
import type { Server } from '../../schemas/server.ts'
import { escapeText } from '../../domain/text/text.ts'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { expandVariables, parsePairs, readObjects, type InputObject } from '../io/input.ts'
import { itemPath } from '../io/kinds.ts'
import type { Action } from '../io/runner.ts'
import { secretFromArgument, secretFromStdin } from '../io/secret.ts'
import { isPending, needsSignIn, registerWithSignIn, type RegistrationResponse } from '../io/sign-in.ts'
import { checkRegistration, isPastedText, readPasted } from './pasted.ts'
import { setSwitches, splitSwitches } from '../apply/switches.ts'
import { listView, recordView } from '../output/views.ts'

interface Flags {
  readonly name?: string
  readonly url?: string
  readonly transport?: string
  readonly description?: string
  readonly header?: readonly string[]
  readonly env?: readonly string[]
  readonly bearerTokenStdin?: boolean
  readonly bearerToken?: string
  readonly sessionMode?: string
  readonly oauthAssumePkce?: boolean
  /** False with `--no-apps`. */
  readonly apps: boolean
  readonly trustedAnnotations?: boolean
  readonly conf?: string
  readonly force?: boolean
  readonly saveDisabled?: boolean
  readonly browser: boolean
}

type ServerRecord = Static<typeof Server>

const fileExclusive = [
  'url',
  'transport',
  'description',
  'header',
  'env',
  'bearerToken',
  'bearerTokenStdin',
  'sessionMode',
  'oauthAssumePkce',
  'trustedAnnotations'
] as const

/** Returns true if an option describes the server. */
const isDescribed = (flags: Flags) => !flags.apps || fileExclusive.some((name) => flags[name] !== undefined)

function headersOf(input: readonly string[]): [string, string][] {
  return input.map((header) => {
    const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(header) ?? []
    if (name === undefined || value === undefined) throw usage('--header must be "name: value"')
    return [name.trim(), value]
  })
}

/** `NAME` without a value reads it from the environment, which keeps it off the command line. */
const envOf = (input: readonly string[]) =>
  parsePairs(
    input.map((each) => (each.includes('=') ? each : `${each}=\${${each}}`)),
    '--env'
  )

async function bearerToken(cli: Cli, flags: Flags): Promise<string | undefined> {
  if (flags.bearerTokenStdin && flags.bearerToken !== undefined)
    throw usage('use either --bearer-token or --bearer-token-stdin')
  if (flags.bearerTokenStdin) return secretFromStdin(cli, '--bearer-token-stdin')
  if (flags.bearerToken === undefined) return undefined
  return secretFromArgument(cli, flags.bearerToken, 'use --bearer-token-stdin')
}

function transportFor(flags: Flags, command: readonly string[]): string {
  if (flags.transport !== undefined) return flags.transport
  if (command.length > 0) return 'stdio'
  return /\/sse\/?$/.test(flags.url ?? '') ? 'sse' : 'streamable_http'
}

/** Builds the registration from flags and operands. */
async function fromFlags(cli: Cli, args: readonly string[], flags: Flags): Promise<InputObject> {
  const [name, ...command] = flags.name === undefined ? args : [flags.name, ...args]
  const isUrl = flags.url !== undefined
  if (name === undefined)
    throw usage('the name of the server is missing', 'towpath register NAME --url URL, or NAME -- COMMAND ARGS…')
  if (isUrl === command.length > 0)
    throw usage('a server needs either --url or a command', 'towpath register NAME -- COMMAND ARGS…')
  const [executable, ...rest] = command
  const token = await bearerToken(cli, flags)
  const value = {
    name,
    transport: transportFor(flags, command),
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(flags.sessionMode === undefined ? {} : { session_mode: flags.sessionMode }),
    ...(flags.oauthAssumePkce ? { oauth_assume_pkce: true } : {}),
    ...(flags.apps ? {} : { apps: false }),
    ...(flags.trustedAnnotations ? { trusted_annotations: true } : {}),
    ...(isUrl ? { url: flags.url } : { command: executable, args: rest }),
    ...(flags.header ? { headers: Object.fromEntries(headersOf(flags.header)) } : {}),
    ...(flags.env ? { env: Object.fromEntries(envOf(flags.env)) } : {})
  }
  // the shell already expanded the command and its arguments, and a token is never expanded
  const { headers, env } = expandVariables(cli.io, { headers: value.headers, env: value.env }, 'the command line') as {
    headers?: object
    env?: object
  }
  return {
    from: 'the command line',
    value: { ...value, ...(headers && { headers }), ...(env && { env }), ...(token && { bearer_token: token }) }
  }
}

function fromFile(cli: Cli, args: readonly string[], flags: Flags): Promise<InputObject[]> {
  if (isDescribed(flags) || args.length > 0 || flags.name !== undefined)
    throw usage(
      'with -c only --force and --save-disabled can be given in addition: everything else comes from the file'
    )
  return readObjects(cli.io, flags.conf!, ({ value, from: file }) => checkRegistration(value, file))
}

/** Reads a text that already contains what the other options would say. */
function fromText(cli: Cli, text: string, flags: Flags): Promise<InputObject[]> {
  if (isDescribed(flags))
    throw usage(
      'with a pasted text only --force, --save-disabled and --no-browser can be given',
      'towpath register NAME -- COMMAND ARGS…'
    )
  return readPasted(cli, text)
}

async function readInput(cli: Cli, args: readonly string[], flags: Flags): Promise<InputObject[]> {
  if (flags.conf !== undefined) return fromFile(cli, args, flags)
  if (flags.name === undefined && flags.url === undefined && isPastedText(args)) return fromText(cli, args[0]!, flags)
  return [await fromFlags(cli, args, flags)]
}

/** Registers a server, then sets the switches of its file. Returns the record after both. */
async function send(cli: Cli, each: InputObject, flags: Flags): Promise<RegistrationResponse> {
  const { input, switches } = splitSwitches(each)
  const answer = await post(cli, input, flags).catch((error: unknown) => {
    if (!needsSignIn(error)) throw error
    const value = (redirectUri: string) => ({ ...input.value, oauth_redirect_uri: redirectUri })
    return registerWithSignIn(cli, flags.browser, (uri) => post(cli, { ...input, value: value(uri) }, flags))
  })
  if (isPending(answer.body) || !switches) return answer
  const { name } = answer.body
  await setSwitches(cli, name, switches)
  return cli.api.get<ServerRecord>(itemPath('server', name))
}

/** Describes the work that the command waits for: a first start of a package runner may take half a minute. */
const waitingFor = ({ command, url }: InputObject['value']): string =>
  typeof command === 'string' ? `starting ${escapeText(command, 60)}` : `connecting to ${hostOf(url)}`

const hostOf = (url: unknown): string => {
  try {
    return new URL(String(url)).host
  } catch {
    return 'the server'
  }
}

async function post(cli: Cli, { value }: InputObject, { force, saveDisabled }: Flags): Promise<RegistrationResponse> {
  const query = { force: force ? 'true' : undefined, save: saveDisabled ? 'disabled' : undefined }
  try {
    return await cli.api.post(withQuery('/api/v0/servers', query), value, { reason: waitingFor(value) })
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.conflict) throw error
    throw new Failure(error.exitCode, error.message, { hint: 'replace it with --force', code: error.code })
  }
}

export const register: Action<Flags> = async (cli, args, flags) => {
  const input = await readInput(cli, args, flags)
  const answers: RegistrationResponse[] = []
  for (const each of input) {
    const answer = await send(cli, each, flags).catch((error: unknown) => {
      if (answers.length > 0)
        cli.warn(`${answers.length} of ${input.length} servers were registered before the failure`)
      throw error
    })
    if (isPending(answer.body)) cli.note(`"${String(each.value.name)}" requires a sign-in in the browser`)
    else if (answer.body.enabled) cli.note(`registered server "${answer.body.name}"`)
    else
      cli.warn(
        `server "${answer.body.name}" is saved disabled: ${answer.body.notes?.join('; ') ?? ''}`,
        `towpath enable server ${answer.body.name}`
      )
    answers.push(answer)
  }
  await showAll(cli, answers)
}

async function showAll(cli: Cli, answers: readonly RegistrationResponse[]): Promise<void> {
  const [first] = answers
  if (answers.length === 1 && first) {
    const { body } = first
    return cli.show(first, recordView(isPending(body) ? body.authorization_required : body))
  }
  const bodies = answers.map(({ body }) => body)
  await cli.show(
    { body: bodies },
    listView(
      'server',
      bodies.filter((body): body is ServerRecord => !isPending(body))
    )
  )
}
