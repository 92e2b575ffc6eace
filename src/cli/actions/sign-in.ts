import type { Static } from '@sinclair/typebox'
import type { Initialized, User } from '../../schemas/principal.ts'
import { updateConfigFile } from '../io/config-file.ts'
import type { Cli } from '../io/cli.ts'
import { checkToken } from '../io/connection.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { askSecret } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'
import { secretFromArgument, secretFromStdin } from '../io/secret.ts'
import { changeSignIn } from '../io/account-file.ts'
import type { SignInFlags } from '../account/login.ts'
import { recordView } from '../output/views.ts'

/** Saves the token, with the registry URL if given on the command line, since the token belongs to that gateway. */
async function saveToken(cli: Cli, token: string): Promise<void> {
  const { connection, configPath } = cli
  const registry = connection.source === '--registry' ? { registry_url: connection.registry } : {}
  await updateConfigFile(configPath, { access_token: token, ...registry })
  // a stored sign-in would be used instead
  await changeSignIn(cli.io.home, connection.registry, async () => undefined)
  cli.note(`${connection.tokenSource === 'file' ? 'replaced' : 'saved'} the access token in ${configPath}`)
  warnOfVariable(cli)
}

function warnOfVariable({ connection, warn }: Cli): void {
  if (connection.tokenSource === 'TOWPATH_TOKEN')
    warn('TOWPATH_TOKEN is set and overrides what is stored', 'unset TOWPATH_TOKEN')
}

interface InitFlags {
  readonly initSecretStdin?: boolean
}

export const initServer: Action<InitFlags> = async (cli, _args, { initSecretStdin }) => {
  const secret = initSecretStdin
    ? await secretFromStdin(cli, '--init-secret-stdin')
    : (cli.io.env.TOWPATH_INIT_SECRET ?? null)
  const request = cli.api.send<Static<typeof Initialized>>('POST', '/init', undefined, { token: secret })
  const { body } = await request.catch((error: unknown) => {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error
    throw new Failure(error.exitCode, error.message, { hint: 'set TOWPATH_INIT_SECRET, or use --init-secret-stdin' })
  })
  await saveToken(cli, body.admin_access_token)
  // the token is written to the file only
  const shown = { status: body.status, config: cli.configPath }
  await cli.show({ body: shown }, recordView(shown, cli.api.registry))
}

interface LoginFlags extends SignInFlags {
  readonly tokenStdin?: boolean
}

async function tokenFor(cli: Cli, given: string | undefined, { tokenStdin }: LoginFlags): Promise<string> {
  if (given !== undefined && tokenStdin) throw usage('use either a token or --token-stdin')
  if (tokenStdin) return secretFromStdin(cli, '--token-stdin')
  if (given !== undefined) return secretFromArgument(cli, given, 'use `towpath login --token-stdin`')
  if (!cli.canPrompt)
    throw usage('the gateway has no sign-in, and there is no terminal to prompt for a token', 'use --token-stdin')
  return askSecret(cli.io, 'Access token: ')
}

/** Signs in as a person where the gateway offers it; a token that is stored for it is no longer used then. */
async function logInAsPerson(cli: Cli, flags: LoginFlags): Promise<boolean> {
  const { signIn } = await import('../account/login.ts')
  const signedIn = await signIn(cli, flags)
  if (!signedIn) {
    if (flags.device || flags.scopes !== undefined)
      throw usage(`${cli.api.registry} has no sign-in for people`, 'use --token-stdin with an access token')
    return false
  }
  const { connection, configPath } = cli
  const { body } = await cli.api.send<Static<typeof User>>('GET', '/api/v0/users/whoami', undefined, {
    token: signedIn.access_token
  })
  const registry = connection.source === '--registry' ? { registry_url: connection.registry } : {}
  await updateConfigFile(configPath, { access_token: undefined, ...registry })
  warnOfVariable(cli)
  cli.note(`signed in as ${body.name} (${body.role})`)
  await cli.show({ body }, recordView(body))
  return true
}

/** `towpath login`. */
export const login: Action<LoginFlags> = async (cli, [given], flags) => {
  if (given === undefined && !flags.tokenStdin && (await logInAsPerson(cli, flags))) return
  const token = checkToken((await tokenFor(cli, given, flags)).trim(), 'the input')
  const answer = await cli.api.send<Static<typeof User>>('GET', '/api/v0/users/whoami', undefined, { token })
  await saveToken(cli, token)
  cli.note(`signed in as ${answer.body.name} (${answer.body.role})`)
  await cli.show(answer, recordView(answer.body))
}

/** `towpath logout`. */
export const logout: Action = async (cli) => {
  const { signOut } = await import('../account/login.ts')
  if (await signOut(cli)) cli.note(`signed out of ${cli.api.registry}`)
  if (cli.connection.tokenSource === 'TOWPATH_TOKEN') cli.warn('TOWPATH_TOKEN is still set', 'unset TOWPATH_TOKEN')
  await updateConfigFile(cli.configPath, { access_token: undefined })
  cli.note(`removed the access token from ${cli.configPath}`)
}
