/** Placeholder for the token in configurations of clients that cannot read it from a variable or a prompt */
export const TOKEN_PLACEHOLDER = '<token>'

/** MCP clients with configuration snippets */
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
  /** Name of the gateway in the client's configuration */
  readonly name: string
  /** URL of the MCP endpoint: `/mcp` or that of a group */
  readonly url: string
  /** Environment variable that holds the token of an MCP client; absent if no token is sent */
  readonly tokenVariable?: string
}

/** Change to a configuration file: members to set at paths of a JSON document, or tables of a TOML document */
export interface FileChange {
  /**
   * Path of the file: `~` is the user's home and `{config}` the system's configuration folder; other paths belong to
   * the project
   */
  readonly file: string
  readonly language: 'json' | 'toml'
  /** Members to set; the rest of the file stays unchanged */
  readonly members: readonly { readonly path: readonly string[]; readonly value: unknown }[]
}

export interface Snippet {
  readonly title: string
  readonly language: 'sh' | 'json' | 'toml' | 'ts' | 'url'
  readonly text: string
  /** Path of the file that the text belongs in, as in `FileChange` */
  readonly file?: string
  readonly note?: string
}

type JsonValue = Readonly<Record<string, unknown>>

const bearer = (reference: string) => ({ headers: { Authorization: `Bearer ${reference}` } })

const addTokenHeader = (url: JsonValue, { tokenVariable }: Target, refer: (name: string) => string): JsonValue =>
  tokenVariable === undefined ? url : { ...url, ...bearer(refer(tokenVariable)) }

const shell = (name: string) => `\${${name}}`
const env = (name: string) => `\${env:${name}}`

/** Double quotes work in every shell and expand the variable. */
const tokenHeader = ({ tokenVariable }: Target, flag: string) =>
  tokenVariable === undefined ? '' : ` ${flag} "Authorization: Bearer $${tokenVariable}"`

const inputId = ({ name }: Target) => `${name}-token`

const vscodeEntry = (target: Target) =>
  addTokenHeader({ type: 'http', url: target.url }, target, () => `\${input:${inputId(target)}}`)

const vscodeInputs = (target: Target) => [
  { type: 'promptString', id: inputId(target), description: `Token for ${target.name}`, password: true }
]

/** Returns true if `mcp-remote` needs `--allow-http`: it rejects plain HTTP to other machines by default. */
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

/** Returns the change to a client's configuration file; undefined for clients without one. */
export function fileChange(client: ClientName, target: Target): FileChange | undefined {
  const { url, tokenVariable } = target
  switch (client) {
    case 'claude-code':
      return member('.mcp.json', 'mcpServers', target, addTokenHeader({ type: 'http', url }, target, shell))
    case 'cursor':
      return member('~/.cursor/mcp.json', 'mcpServers', target, addTokenHeader({ url }, target, env))
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
        addTokenHeader({ serverUrl: url }, target, env)
      )
    default:
      return undefined
  }
}

/** Formats a table of strings. JSON's string escapes are valid in TOML. */
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
      const config = encodeURIComponent(btoa(JSON.stringify(addTokenHeader({ url }, target, env))))
      const text = `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`
      return [{ title: 'Link', language: 'url', text }]
    }
    case 'vscode': {
      const entry = {
        name,
        ...vscodeEntry(target),
        ...(tokenVariable === undefined ? {} : { inputs: vscodeInputs(target) })
      }
      return [{ title: 'Command', language: 'sh', text: `code --add-mcp ${singleQuote(JSON.stringify(entry))}` }]
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

const notes: { readonly [client in ClientName]?: (target: Target) => string | undefined } = {
  'claude-code': () => 'In the project folder; each user of the project has to approve it once',
  codex: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Codex starts`,
  'claude-desktop': ({ tokenVariable }) =>
    `Claude Desktop only starts commands, so mcp-remote connects it to the gateway (needs Node.js)${tokenVariable === undefined ? '' : `; replace ${TOKEN_PLACEHOLDER} with the token`}`,
  cursor: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Cursor starts`,
  windsurf: ({ tokenVariable }) =>
    tokenVariable === undefined ? undefined : `${tokenVariable} must be set where Windsurf starts`
}

const message = (method: string, params: JsonValue) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

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
  const { file, language } = change
  const whole: Snippet = { title: file, file, language, text: textOf(change), ...(note === undefined ? {} : { note }) }
  return [...shortcuts(client, target), whole]
}
