import { gatewayAddress } from '../network/mcp-endpoint.ts'
import { PRODUCT } from '../product.ts'
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
  /** Words that start this program on the machine of the client; default: the command of an installed package */
  readonly program?: readonly string[]
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

/** Returns the entry of a client that only starts commands; the token is in a variable, since others see arguments. */
function commandEntry({ url, tokenVariable, program = [PRODUCT] }: Target): JsonObject {
  const [command, ...before] = program
  const { registry, group } = gatewayAddress(url)
  const args = [...before, 'stdio', '--registry', registry, ...(group === undefined ? [] : ['--group', group])]
  return { command, args, ...(tokenVariable === undefined ? {} : { env: { TOWPATH_TOKEN: TOKEN_PLACEHOLDER } }) }
}

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
  'claude-desktop': commandEntry,
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
