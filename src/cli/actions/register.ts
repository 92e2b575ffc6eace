import type { Static } from '@sinclair/typebox'
import type { Server } from '../../schemas/server.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { expand, pairs, readObjects, type Given } from '../input.ts'
import { itemPath } from '../kinds.ts'
import type { Action } from '../runner.ts'
import { secretFromArgument, secretFromStdin } from '../secret.ts'
import { isPending, needsSignIn, registerBySigningIn, type Registration } from '../sign-in.ts'
import { setSwitches, takeSwitches } from '../switches.ts'
import { listView, recordView } from '../views.ts'

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
  readonly conf?: string
  readonly force?: boolean
  readonly browser: boolean
}

type Registered = Static<typeof Server>

const own = [
  'url',
  'transport',
  'description',
  'header',
  'env',
  'bearerToken',
  'bearerTokenStdin',
  'sessionMode',
  'oauthAssumePkce'
] as const

function headersOf(given: readonly string[]): [string, string][] {
  return given.map((header) => {
    const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(header) ?? []
    if (name === undefined || value === undefined) throw usage('--header takes "name: value"')
    return [name.trim(), value]
  })
}

/** `NAME` alone takes the value from the environment, so that it is in no argument. */
const envOf = (given: readonly string[]) =>
  pairs(
    given.map((each) => (each.includes('=') ? each : `${each}=\${${each}}`)),
    '--env'
  )

async function bearerToken(cli: Cli, flags: Flags): Promise<string | undefined> {
  if (flags.bearerTokenStdin && flags.bearerToken !== undefined)
    throw usage('--bearer-token and --bearer-token-stdin: give one of them')
  if (flags.bearerTokenStdin) return secretFromStdin(cli, '--bearer-token-stdin')
  if (flags.bearerToken === undefined) return undefined
  return secretFromArgument(cli, flags.bearerToken, 'use --bearer-token-stdin')
}

function transportFor(flags: Flags, command: readonly string[]): string {
  if (flags.transport !== undefined) return flags.transport
  if (command.length > 0) return 'stdio'
  return /\/sse\/?$/.test(flags.url ?? '') ? 'sse' : 'streamable_http'
}

/** The registration that flags and operands spell. */
async function fromFlags(cli: Cli, args: readonly string[], flags: Flags): Promise<Given> {
  const [name, ...command] = flags.name === undefined ? args : [flags.name, ...args]
  const isUrl = flags.url !== undefined
  if (name === undefined) throw usage('which server?', 'towpath register NAME --url URL, or NAME -- COMMAND ARGS…')
  if (isUrl === command.length > 0)
    throw usage('a server has either --url or a command', 'towpath register NAME -- COMMAND ARGS…')
  const [executable, ...rest] = command
  const token = await bearerToken(cli, flags)
  const value = {
    name,
    transport: transportFor(flags, command),
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(flags.sessionMode === undefined ? {} : { session_mode: flags.sessionMode }),
    ...(flags.oauthAssumePkce ? { oauth_assume_pkce: true } : {}),
    ...(isUrl ? { url: flags.url } : { command: executable, args: rest }),
    ...(flags.header ? { headers: Object.fromEntries(headersOf(flags.header)) } : {}),
    ...(flags.env ? { env: Object.fromEntries(envOf(flags.env)) } : {})
  }
  // the command and its arguments are the shell's business, and a token is never read twice
  const { headers, env } = expand(cli.world, { headers: value.headers, env: value.env }, 'the command line') as {
    headers?: object
    env?: object
  }
  return {
    from: 'the command line',
    value: { ...value, ...(headers && { headers }), ...(env && { env }), ...(token && { bearer_token: token }) }
  }
}

function fromFile(cli: Cli, args: readonly string[], flags: Flags): Promise<Given[]> {
  const also = own.filter((name) => flags[name] !== undefined)
  if (also.length > 0 || args.length > 0 || flags.name !== undefined)
    throw usage('-c takes everything from the file: give nothing else but --force')
  return readObjects(cli.world, flags.conf!)
}

/** What a file says of switches is set once the server is there; the answer is the record after that. */
async function send(cli: Cli, each: Given, flags: Flags): Promise<Registration> {
  const { given, switches } = takeSwitches(each)
  const answer = await post(cli, given, flags).catch((error: unknown) => {
    if (!needsSignIn(error)) throw error
    const value = (redirectUri: string) => ({ ...given.value, oauth_redirect_uri: redirectUri })
    return registerBySigningIn(cli, flags.browser, (uri) => post(cli, { ...given, value: value(uri) }, flags))
  })
  if (isPending(answer.body) || !switches) return answer
  const { name } = answer.body
  await setSwitches(cli, name, switches)
  return cli.api.get<Registered>(itemPath('server', name))
}

async function post(cli: Cli, { value }: Given, { force }: Flags): Promise<Registration> {
  try {
    return await cli.api.post(`/api/v0/servers${force ? '?force=true' : ''}`, value)
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.conflict) throw error
    throw new Failure(error.exitCode, error.message, { hint: 'replace it with --force', code: error.code })
  }
}

export const register: Action<Flags> = async (cli, args, flags) => {
  const given = flags.conf === undefined ? [await fromFlags(cli, args, flags)] : await fromFile(cli, args, flags)
  const answers: Registration[] = []
  for (const each of given) {
    const answer = await send(cli, each, flags).catch((error: unknown) => {
      if (answers.length > 0)
        cli.warn(`${answers.length} of ${given.length} servers were registered before this failed`)
      throw error
    })
    if (isPending(answer.body)) cli.note(`"${String(each.value.name)}" waits for a sign-in in the browser`)
    else cli.note(`registered server "${answer.body.name}"`)
    answers.push(answer)
  }
  await showAll(cli, answers)
}

async function showAll(cli: Cli, answers: readonly Registration[]): Promise<void> {
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
      bodies.filter((body): body is Registered => !isPending(body))
    )
  )
}
