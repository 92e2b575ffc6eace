/** Where a client cannot take the token from anywhere, this stands in its place. */
export const TOKEN_PLACEHOLDER = '<token>'

/** A client that can be pointed at the gateway. */
export const CLIENTS = [
  'claude-code',
  'cursor',
  'vscode',
  'codex',
  'claude-desktop',
  'windsurf',
  'curl',
  'typescript'
] as const
export type ClientName = (typeof CLIENTS)[number]

export const CLIENT_TITLES: Readonly<Record<ClientName, string>> = {
  'claude-code': 'Claude Code',
  cursor: 'Cursor',
  vscode: 'VS Code',
  codex: 'Codex',
  'claude-desktop': 'Claude Desktop',
  windsurf: 'Windsurf',
  curl: 'curl',
  typescript: 'TypeScript SDK'
}

export interface Target {
  /** What the client calls the gateway. */
  readonly name: string
  /** Of the MCP endpoint: `/mcp` or a group's. */
  readonly url: string
  /** The environment variable that holds the token of an MCP client; absent: no token is sent. */
  readonly tokenVariable?: string
}

/** What a configuration file gets: a member at a path of a JSON document, or a table of a TOML document. */
export interface FileChange {
  /** `~` is the user's home, a path without it belongs to the project, `{config}` is the system's configuration folder. */
  readonly file: string
  readonly language: 'json' | 'toml'
  /** Where `value` stands, and what stands in the way of nothing else in the file. */
  readonly members: readonly { readonly path: readonly string[]; readonly value: unknown }[]
}

export interface Snippet {
  readonly title: string
  readonly language: 'sh' | 'json' | 'toml' | 'ts' | 'url'
  readonly text: string
  /** Where the text belongs, as in `FileChange`. */
  readonly file?: string
  readonly note?: string
}

type JsonValue = Readonly<Record<string, unknown>>

const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } })

const entryWith = (url: JsonValue, { tokenVariable }: Target, refer: (name: string) => string): JsonValue =>
  tokenVariable === undefined ? url : { ...url, ...bearer(refer(tokenVariable)) }

const shell = (name: string) => `\${${name}}`
const env = (name: string) => `\${env:${name}}`

/** `"` works in every shell and lets the variable through. */
const tokenHeader = ({ tokenVariable }: Target, flag: string) =>
  tokenVariable === undefined ? '' : ` ${flag} "Authorization: Bearer $${tokenVariable}"`

const inputId = ({ name }: Target) => `${name}-token`

const vscodeEntry = (target: Target) =>
  entryWith({ type: 'http', url: target.url }, target, () => `\${input:${inputId(target)}}`)

const vscodeInputs = (target: Target) => [
  { type: 'promptString', id: inputId(target), description: `Token for ${target.name}`, password: true }
]

/** `mcp-remote` refuses plain http to another machine unless it is told that this is meant. */
const isPlain = (url: string) => url.startsWith('http:') && !/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url)

const bridgeEntry = ({ url, tokenVariable }: Target): JsonValue => ({
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

const member = (file: string, key: string, { name }: Target, value: JsonValue): FileChange => ({
  file,
  language: 'json',
  members: [{ path: [key, name], value }]
})

/** What goes into which file of a client; undefined for those without one. */
export function fileChange(client: ClientName, target: Target): FileChange | undefined {
  const { url, tokenVariable } = target
  switch (client) {
    case 'claude-code':
      return member('.mcp.json', 'mcpServers', target, entryWith({ type: 'http', url }, target, shell))
    case 'cursor':
      return member('~/.cursor/mcp.json', 'mcpServers', target, entryWith({ url }, target, env))
    case 'vscode': {
      const { members, ...rest } = member('.vscode/mcp.json', 'servers', target, vscodeEntry(target))
      const inputs = { path: ['inputs'], value: vscodeInputs(target) }
      return { ...rest, members: tokenVariable === undefined ? members : [inputs, ...members] }
    }
    case 'codex':
      return {
        file: '~/.codex/config.toml',
        language: 'toml',
        members: [
          {
            path: ['mcp_servers', target.name],
            value: { url, ...(tokenVariable === undefined ? {} : { bearer_token_env_var: tokenVariable }) }
          }
        ]
      }
    case 'claude-desktop':
      return member('{config}/Claude/claude_desktop_config.json', 'mcpServers', target, bridgeEntry(target))
    case 'windsurf':
      return member(
        '~/.codeium/windsurf/mcp_config.json',
        'mcpServers',
        target,
        entryWith({ serverUrl: url }, target, env)
      )
    default:
      return undefined
  }
}

/** A table of texts. JSON's escapes of a text are TOML's too. */
export const tomlTable = (path: readonly string[], value: JsonValue): string =>
  [
    `[${path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.')}]`,
    ...Object.entries(value).map(([key, text]) => `${key} = ${JSON.stringify(text)}`)
  ].join('\n')

function textOf({ language, members }: FileChange): string {
  if (language === 'toml') return members.map(({ path, value }) => tomlTable(path, value as JsonValue)).join('\n\n')
  const document: Record<string, unknown> = {}
  for (const { path, value } of members) {
    const [top, key] = path as [string, string?]
    document[top] = key === undefined ? value : { [key]: value }
  }
  return JSON.stringify(document, null, 2)
}

/** One word of a shell's command line. */
const word = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : single(text))

const single = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Commands and links that do without editing a file. */
function shortcuts(client: ClientName, target: Target): Snippet[] {
  const { name, url, tokenVariable } = target
  switch (client) {
    case 'claude-code': {
      const text = `claude mcp add --transport http ${word(name)} ${word(url)}${tokenHeader(target, '--header')}`
      const note = tokenVariable === undefined ? {} : { note: 'Claude Code keeps the token itself in its settings' }
      return [{ title: 'Command', language: 'sh', text, ...note }]
    }
    case 'cursor': {
      const config = encodeURIComponent(btoa(JSON.stringify(entryWith({ url }, target, env))))
      const text = `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`
      return [{ title: 'Link', language: 'url', text }]
    }
    case 'vscode': {
      const entry = {
        name,
        ...vscodeEntry(target),
        ...(tokenVariable === undefined ? {} : { inputs: vscodeInputs(target) })
      }
      return [{ title: 'Command', language: 'sh', text: `code --add-mcp ${single(JSON.stringify(entry))}` }]
    }
    case 'codex': {
      const token = tokenVariable === undefined ? '' : ` --bearer-token-env-var ${tokenVariable}`
      return [{ title: 'Command', language: 'sh', text: `codex mcp add ${word(name)} --url ${word(url)}${token}` }]
    }
    default:
      return []
  }
}

const notes: { readonly [client in ClientName]?: (target: Target) => string | undefined } = {
  'claude-code': () => 'In the folder of the project; every user of the project is asked once',
  codex: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Codex starts`,
  'claude-desktop': ({ tokenVariable }) =>
    `Claude Desktop starts commands only, so mcp-remote stands in between (needs Node.js)${tokenVariable === undefined ? '' : `; put the token in the place of ${TOKEN_PLACEHOLDER}`}`,
  cursor: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Cursor starts`,
  windsurf: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Windsurf starts`
}

const message = (method: string, params: JsonValue) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** One call of the oldest kind that a session begins with: it shows that endpoint and token are right. */
function curlSnippet(target: Target): Snippet {
  const body = message('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'curl', version: '1' }
  })
  const lines = [
    `curl -sS ${word(target.url)}`,
    `-H 'Content-Type: application/json'`,
    `-H 'Accept: application/json, text/event-stream'`,
    ...(target.tokenVariable === undefined ? [] : [`-H "Authorization: Bearer $${target.tokenVariable}"`]),
    `-d ${single(body)}`
  ]
  return { title: 'Request', language: 'sh', text: lines.join(' \\\n  ') }
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function sdkSnippet({ url, tokenVariable }: Target): Snippet {
  const isOpen = tokenVariable === undefined
  const transport = `new StreamableHTTPClientTransport(new URL(${quoted(url)})${isOpen ? '' : ', { requestInit: { headers } }'})`
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
 * How a client is pointed at the gateway (design: ux.md 3.6; formats as the clients' documentation has them in November
 * 2026). No snippet holds a token: each refers to a variable, or is asked for one, as far as the client can do that.
 */
export function clientSnippets(client: ClientName, target: Target): Snippet[] {
  if (client === 'curl') return [curlSnippet(target)]
  if (client === 'typescript') return [sdkSnippet(target)]
  const change = fileChange(client, target)!
  const note = notes[client]?.(target)
  const { file, language } = change
  const whole: Snippet = { title: file, file, language, text: textOf(change), ...(note === undefined ? {} : { note }) }
  return [...shortcuts(client, target), whole]
}
