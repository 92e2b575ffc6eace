import { CLIENT_PLACES, isFileClient, type ClientName, type ConfigLanguage, type ConfigPlace } from './clients.ts'
import { PRODUCT } from '../product.ts'
import { gatewayEntry, inputId, TOKEN_PLACEHOLDER, type JsonObject, type Target } from './entry.ts'

export { CLIENTS, CLIENT_TITLES, type ClientName } from './clients.ts'
export { TOKEN_PLACEHOLDER, type Target } from './entry.ts'

/** Member of a configuration file; an undefined value removes it, and an item of a list replaces that with its `id` */
export interface MemberChange {
  readonly path: readonly string[]
  readonly value: unknown
}

/** Change to a configuration file; everything else in it stays as it is */
export interface FileChange {
  readonly place: ConfigPlace
  readonly members: readonly MemberChange[]
}

export interface Snippet {
  readonly title: string
  readonly language: 'sh' | 'ts' | 'url' | ConfigLanguage
  readonly text: string
  /** Path of the file that the text belongs in, as in `ConfigPlace` */
  readonly file?: string
  readonly note?: string
}

/** Double quotes work in every shell and expand the variable. */
const tokenHeader = ({ tokenVariable }: Target, flag: string) =>
  tokenVariable === undefined ? '' : ` ${flag} "Authorization: Bearer $${tokenVariable}"`

const vscodeInputs = (target: Target) => [
  { type: 'promptString', id: inputId(target), description: `Token for ${target.name}`, password: true }
]

/** Returns the members that point a client at the gateway, in the file of `place`. */
export function gatewayMembers(client: ClientName, place: ConfigPlace, target: Target): readonly MemberChange[] {
  if (!isFileClient(client)) return []
  const entry = { path: [...place.servers, target.name], value: gatewayEntry(client, target) }
  if (client !== 'vscode' || target.tokenVariable === undefined) return [entry]
  return [{ path: [...place.servers.slice(0, -1), 'inputs'], value: vscodeInputs(target) }, entry]
}

/** Returns the change to a client's configuration file; undefined for clients without one. */
export function fileChange(client: ClientName, target: Target): FileChange | undefined {
  if (!isFileClient(client)) return undefined
  const place = CLIENT_PLACES[client][0]!
  return { place, members: gatewayMembers(client, place, target) }
}

/** Returns the path of a place for the documentation, which is that of Linux if it differs. */
const shownFile = ({ file }: ConfigPlace) => (typeof file === 'string' ? file : file.linux)

/** Formats a table of strings. JSON's string escapes are valid in TOML. */
export const tomlTable = (path: readonly string[], value: JsonObject): string =>
  [
    `[${path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.')}]`,
    ...Object.entries(value).map(([key, text]) => `${key} = ${JSON.stringify(text)}`)
  ].join('\n')

function yamlScalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return /^[A-Za-z][\w-]*$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`
}

/** Formats an object as a YAML block; a value without members is in JSON, which YAML contains. */
function yamlBlock(value: JsonObject, indent: string): string[] {
  return Object.entries(value).flatMap(([key, each]) => {
    const isObject = typeof each === 'object' && each !== null && !Array.isArray(each) && Object.keys(each).length > 0
    return isObject
      ? [`${indent}${key}:`, ...yamlBlock(each as JsonObject, `${indent}  `)]
      : [`${indent}${key}: ${yamlScalar(each)}`]
  })
}

function textOf({ place: { language }, members }: FileChange): string {
  if (language === 'toml') return members.map(({ path, value }) => tomlTable(path, value as JsonObject)).join('\n\n')
  const document: Record<string, unknown> = {}
  for (const { path, value } of members) {
    const [top, key] = path as [string, string?]
    document[top] = key === undefined ? value : { [key]: value }
  }
  return language === 'yaml' ? yamlBlock(document, '').join('\n') : JSON.stringify(document, null, 2)
}

/** Quotes a word for the command line of a shell if necessary. */
const quoteWord = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : singleQuote(text))

const singleQuote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Returns commands and links that configure a client without editing a file. */
function shortcuts(client: ClientName, target: Target): Snippet[] {
  const { name, url, tokenVariable } = target
  switch (client) {
    case 'claude-code': {
      const text = `claude mcp add --transport http ${quoteWord(name)} ${quoteWord(url)}${tokenHeader(target, '--header')}`
      const note = tokenVariable === undefined ? {} : { note: 'Claude Code stores the token itself in its settings' }
      return [{ title: 'Command', language: 'sh', text, ...note }]
    }
    case 'cursor': {
      const config = encodeURIComponent(btoa(JSON.stringify(gatewayEntry(client, target))))
      const text = `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`
      return [{ title: 'Link', language: 'url', text }]
    }
    case 'vscode': {
      const entry = {
        name,
        ...gatewayEntry(client, target),
        ...(tokenVariable === undefined ? {} : { inputs: vscodeInputs(target) })
      }
      return [{ title: 'Command', language: 'sh', text: `code --add-mcp ${singleQuote(JSON.stringify(entry))}` }]
    }
    case 'gemini-cli': {
      const text = `gemini mcp add --scope user --transport http${tokenHeader(target, '--header')} ${quoteWord(name)} ${quoteWord(url)}`
      return [{ title: 'Command', language: 'sh', text }]
    }
    case 'codex': {
      const token = tokenVariable === undefined ? '' : ` --bearer-token-env-var ${tokenVariable}`
      return [
        { title: 'Command', language: 'sh', text: `codex mcp add ${quoteWord(name)} --url ${quoteWord(url)}${token}` }
      ]
    }
    default:
      return []
  }
}

/** Clients whose file has to contain the token itself. */
const tokenNote = ({ tokenVariable }: Target) =>
  tokenVariable === undefined ? undefined : `Replace ${TOKEN_PLACEHOLDER} with the token`

const variableNote =
  (title: string) =>
  ({ tokenVariable }: Target) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where ${title} starts`

/** A program given by its path needs no search. */
function commandNote({ tokenVariable, program }: Target): string {
  const found = program === undefined || program.length === 1
  const need = found ? `; use the full path of ${PRODUCT} if it does not find the command` : ''
  const token = tokenVariable === undefined ? '' : `; replace ${TOKEN_PLACEHOLDER} with the token`
  return `Claude Desktop only starts commands, and \`${PRODUCT} stdio\` connects it to the gateway${need}${token}`
}

const notes: { readonly [client in ClientName]?: (target: Target) => string | undefined } = {
  'claude-code': () => 'In the project folder; each user of the project has to approve it once',
  'claude-desktop': commandNote,
  codex: variableNote('Codex'),
  cursor: variableNote('Cursor'),
  windsurf: variableNote('Windsurf'),
  'gemini-cli': variableNote('Gemini CLI'),
  opencode: variableNote('opencode'),
  zed: tokenNote,
  cline: tokenNote,
  junie: tokenNote,
  goose: tokenNote,
  'lm-studio': tokenNote
}

const message = (method: string, params: JsonObject) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** Returns an `initialize` request, which verifies endpoint and token. */
function curlSnippet(target: Target): Snippet {
  const body = message('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'curl', version: '1' }
  })
  const lines = [
    `curl -sS ${quoteWord(target.url)}`,
    `-H 'Content-Type: application/json'`,
    `-H 'Accept: application/json, text/event-stream'`,
    ...(target.tokenVariable === undefined ? [] : [`-H "Authorization: Bearer $${target.tokenVariable}"`]),
    `-d ${singleQuote(body)}`
  ]
  return { title: 'Request', language: 'sh', text: lines.join(' \\\n  ') }
}

const jsString = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function sdkSnippet({ url, tokenVariable }: Target): Snippet {
  const isOpen = tokenVariable === undefined
  const transport = `new StreamableHTTPClientTransport(new URL(${jsString(url)})${isOpen ? '' : ', { requestInit: { headers } }'})`
  const lines = [
    ...(isOpen ? [] : [`import { env } from 'node:process'`]),
    `import { Client } from '@modelcontextprotocol/sdk/client/index.js'`,
    `import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'`,
    '',
    ...(isOpen ? [] : [`const headers = { Authorization: \`Bearer \${env.${tokenVariable}}\` }`]),
    `const client = new Client({ name: 'my-agent', version: '1.0.0' })`,
    `await client.connect(${transport})`,
    `console.log(await client.listTools())`
  ]
  return { title: 'Program', language: 'ts', text: lines.join('\n') }
}

/**
 * Returns the snippets that connect a client to the gateway, in the formats of the clients' documentation as of
 * November 2026. No snippet contains a token: each refers to a variable or prompts for it, if the client supports that.
 */
export function clientSnippets(client: ClientName, target: Target): Snippet[] {
  if (client === 'curl') return [curlSnippet(target)]
  if (client === 'typescript') return [sdkSnippet(target)]
  const change = fileChange(client, target)!
  const note = notes[client]?.(target)
  const { language } = change.place
  const file = shownFile(change.place)
  const whole: Snippet = { title: file, file, language, text: textOf(change), ...(note === undefined ? {} : { note }) }
  return [...shortcuts(client, target), whole]
}
