import type { SessionMode } from '../../../src/domain/session-modes.ts'
import { isServerName, SERVER_NAME_RULE } from '../../../src/domain/names.ts'
import type { ServerInput } from '../../../src/schemas/server.ts'
import type { ServerUpdate, ServerView } from '../../../src/schemas/dashboard/servers.ts'

/** Secret value; `null` keeps the stored one, which is never shown. */
export type Secret = string | null

export interface Pair {
  readonly key: string
  readonly value: Secret
}

/** Fields of the form; lists have one entry per line. */
export interface ServerForm {
  readonly name: string
  readonly transport: ServerInput['transport']
  readonly description: string
  readonly session_mode: SessionMode
  readonly url: Secret
  readonly command: string
  readonly args: Secret
  readonly bearer_token: Secret
  readonly headers: readonly Pair[]
  readonly env: readonly Pair[]
  readonly oauth_client_id: Secret
  readonly oauth_client_secret: Secret
  readonly oauth_scopes: string
  readonly oauth_issuer: string
  readonly oauth_assume_pkce: boolean
  readonly apps: boolean
  readonly trusted_annotations: boolean
}

export type Problems = Readonly<Partial<Record<keyof ServerForm, string>>>

export const emptyForm: ServerForm = {
  name: '',
  transport: 'streamable_http',
  description: '',
  session_mode: 'stateless',
  url: '',
  command: '',
  args: '',
  bearer_token: '',
  headers: [],
  env: [],
  oauth_client_id: '',
  oauth_client_secret: '',
  oauth_scopes: '',
  oauth_issuer: '',
  oauth_assume_pkce: false,
  apps: true,
  trusted_annotations: false
}

const stored = (isThere: boolean | number | undefined): Secret => (isThere ? null : '')
const storedPairs = (keys: readonly string[] = []): Pair[] => keys.map((key) => ({ key, value: null }))

/** Returns the URL for editing; null if its query values are hidden. */
const editableUrl = (target: string | undefined): Secret => (target?.includes('***') ? null : (target ?? ''))

/** Returns arguments for editing, one per line; null if one of them cannot be a line. Secret parts are masked. */
const editableArguments = (args: readonly string[] = []): Secret =>
  args.some((arg) => arg.includes('\n') || arg.trim() === '') ? null : args.join('\n')

/** Returns the form of a registered server; values that the gateway hides are kept unless replaced. */
export function formOf({ name, transport, description = '', config_summary: config }: ServerView): ServerForm {
  return {
    ...emptyForm,
    name,
    transport,
    description,
    session_mode: config.session_mode,
    url: editableUrl(config.target),
    command: config.command ?? '',
    args: editableArguments(config.args),
    bearer_token: stored(config.has_bearer_token),
    headers: storedPairs(config.header_keys),
    env: storedPairs(config.env_keys),
    oauth_client_id: stored(config.has_oauth_client),
    oauth_client_secret: stored(config.has_oauth_client_secret),
    oauth_scopes: (config.oauth_scopes ?? []).join('\n'),
    oauth_issuer: config.oauth_issuer ?? '',
    oauth_assume_pkce: config.oauth_assume_pkce ?? false,
    apps: config.apps ?? true,
    trusted_annotations: config.trusted_annotations ?? false
  }
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')

const record = (pairs: readonly Pair[]): Record<string, string | null> | undefined => {
  const given = pairs.filter(({ key }) => key.trim() !== '')
  return given.length > 0 ? Object.fromEntries(given.map(({ key, value }) => [key.trim(), value])) : undefined
}

type Members = Readonly<Record<string, unknown>>

const withoutEmpty = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''))

const remote = ({ url, bearer_token, headers }: ServerForm): Members => ({
  url: url?.trim() ?? null,
  bearer_token: bearer_token?.trim() ?? null,
  headers: record(headers)
})

const local = ({ command, args, env }: ServerForm): Members => ({
  command: command.trim(),
  args: args === null ? null : lines(args).length > 0 ? lines(args) : undefined,
  env: record(env)
})

const signIn = ({
  oauth_client_id,
  oauth_client_secret,
  oauth_scopes,
  oauth_issuer,
  oauth_assume_pkce
}: ServerForm): Members => ({
  oauth_client_id: oauth_client_id?.trim() ?? null,
  oauth_client_secret,
  oauth_scopes: lines(oauth_scopes.replaceAll(/[ ,]+/g, '\n')).length
    ? lines(oauth_scopes.replaceAll(/[ ,]+/g, '\n')).map((scope) => scope.trim())
    : undefined,
  oauth_issuer: oauth_issuer.trim(),
  oauth_assume_pkce: oauth_assume_pkce || undefined
})

/** Returns the body of `PUT /servers/:name` with the members of the chosen transport. */
export function toUpdate(form: ServerForm): ServerUpdate {
  const { transport, description, session_mode, apps, trusted_annotations } = form
  return withoutEmpty({
    transport,
    description: description.trim(),
    session_mode,
    apps: apps ? undefined : false,
    trusted_annotations: trusted_annotations || undefined,
    ...(transport === 'stdio' ? local(form) : remote(form)),
    ...(transport === 'streamable_http' ? signIn(form) : {})
  }) as ServerUpdate
}

/** Returns the body of `POST /servers`. */
export const toInput = (form: ServerForm): ServerInput =>
  ({ name: form.name.trim(), ...toUpdate(form) }) as unknown as ServerInput

/** Returns the errors that can be found without the gateway. If `isWhole` is false, empty fields are not checked. */
export function problemsOf(form: ServerForm, isWhole: boolean): Problems {
  const { name, transport, url, command } = form
  const problems: { -readonly [K in keyof Problems]: Problems[K] } = {}
  if (name.trim() === '') {
    if (isWhole) problems.name = 'Enter a name.'
  } else if (!isServerName(name.trim())) problems.name = `The name ${SERVER_NAME_RULE}.`
  if (transport === 'stdio') {
    if (command.trim() === '' && isWhole) problems.command = 'Enter a command, for example npx.'
  } else if (url !== null && (url.trim() === '' ? isWhole : !/^https?:\/\/[^\s/]+/.test(url.trim()))) {
    problems.url = 'Enter a URL that begins with http:// or https://.'
  }
  return problems
}

/** Fields, most specific first: `url` is also part of other words. */
const fields = [
  'oauth_client_secret',
  'oauth_client_id',
  'oauth_scopes',
  'oauth_issuer',
  'oauth_assume_pkce',
  'bearer_token',
  'headers',
  'command',
  'env',
  'url',
  'name'
] as const

/** Returns a gateway error at the field that it names; undefined if it names none. */
export function problemIn(message: string): Problems | undefined {
  const field = fields.find((each) => new RegExp(`\\b${each}\\b`).test(message))
  return field === 'url' || field === 'command' || field === 'name' ? { [field]: message } : undefined
}
