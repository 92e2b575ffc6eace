import type { FileClient } from './clients.ts'

/** Placeholder for the token in configurations of clients that cannot read it from a variable or a prompt */
export const TOKEN_PLACEHOLDER = '<token>'

export interface Target {
  /** Name of the gateway in the client's configuration */
  readonly name: string
  /** URL of the MCP endpoint: `/mcp` or that of a group */
  readonly url: string
  /** Environment variable that holds the token of an MCP client; absent if no token is sent */
  readonly tokenVariable?: string
}

export type JsonObject = Readonly<Record<string, unknown>>

const withToken = (entry: JsonObject, { tokenVariable }: Target, refer: (name: string) => string): JsonObject =>
  tokenVariable === undefined ? entry : { ...entry, headers: { Authorization: `Bearer ${refer(tokenVariable)}` } }

const shellReference = (name: string) => `\${${name}}`
const envReference = (name: string) => `\${env:${name}}`
const openCodeReference = (name: string) => `{env:${name}}`
const placeholder = () => TOKEN_PLACEHOLDER

/** Id of the VS Code input that asks for the token. */
export const inputId = ({ name }: Target) => `${name}-token`

/** Returns true if `mcp-remote` needs `--allow-http`: it rejects plain HTTP to other machines by default. */
const isPlain = (url: string) => url.startsWith('http:') && !/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url)

const bridgeEntry = ({ url, tokenVariable }: Target): JsonObject => ({
  command: 'npx',
  args: [
    '-y',
    'mcp-remote',
    url,
    ...(isPlain(url) ? ['--allow-http'] : []),
    ...(tokenVariable === undefined ? [] : ['--header', 'Authorization:${AUTH_HEADER}'])
  ],
  ...(tokenVariable === undefined ? {} : { env: { AUTH_HEADER: `Bearer ${TOKEN_PLACEHOLDER}` } })
})

const gooseEntry = (target: Target): JsonObject => ({
  name: target.name,
  type: 'streamable_http',
  enabled: true,
  uri: target.url,
  envs: {},
  env_keys: [],
  ...withToken({}, target, placeholder),
  timeout: 300
})

const entries: Readonly<Record<FileClient, (target: Target) => JsonObject>> = {
  'claude-code': (target) => withToken({ type: 'http', url: target.url }, target, shellReference),
  cursor: (target) => withToken({ url: target.url }, target, envReference),
  vscode: (target) => withToken({ type: 'http', url: target.url }, target, () => `\${input:${inputId(target)}}`),
  codex: ({ url, tokenVariable }) => ({
    url,
    ...(tokenVariable === undefined ? {} : { bearer_token_env_var: tokenVariable })
  }),
  'claude-desktop': bridgeEntry,
  windsurf: (target) => withToken({ serverUrl: target.url }, target, envReference),
  'gemini-cli': (target) => withToken({ httpUrl: target.url }, target, shellReference),
  zed: (target) => withToken({ url: target.url }, target, placeholder),
  cline: (target) => withToken({ type: 'streamableHttp', url: target.url }, target, placeholder),
  junie: (target) => withToken({ url: target.url }, target, placeholder),
  opencode: (target) => withToken({ type: 'remote', url: target.url, enabled: true }, target, openCodeReference),
  goose: gooseEntry,
  'lm-studio': (target) => withToken({ url: target.url }, target, placeholder)
}

/** Returns the entry that points a client at the gateway. */
export const gatewayEntry = (client: FileClient, target: Target): JsonObject => entries[client](target)
