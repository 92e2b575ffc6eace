import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { parse } from 'jsonc-parser'
import { parse as parseYaml } from 'yaml'
import { FILE_CLIENTS } from '../../src/domain/clients/clients.ts'
import {
  CLIENTS,
  clientSnippets,
  fileChange,
  tomlTable,
  type ClientName,
  type Target
} from '../../src/domain/clients/snippets.ts'

const open: Target = { name: 'towpath', url: 'http://localhost:8080/mcp' }
const closed: Target = { ...open, tokenVariable: 'TOWPATH_CLIENT_TOKEN' }

const file = (client: ClientName, target: Target) => {
  const snippet = clientSnippets(client, target).find((each) => each.file !== undefined)!
  return { ...snippet, value: snippet.language === 'json' ? (parse(snippet.text) as unknown) : undefined }
}
const first = (client: ClientName, target: Target) => clientSnippets(client, target)[0]!

test('each client has snippets, and without a token none speaks of one', () => {
  for (const client of CLIENTS) {
    const snippets = clientSnippets(client, open)
    assert.ok(snippets.length > 0, client)
    for (const { text, note = '', title } of snippets) {
      assert.ok(title)
      assert.doesNotMatch(text + note, /token|authorization|header/i, client)
    }
  }
})

test('Claude Code: a command, and a file of the project that takes the token from the environment', () => {
  assert.equal(
    first('claude-code', closed).text,
    'claude mcp add --transport http towpath http://localhost:8080/mcp --header "Authorization: Bearer $TOWPATH_CLIENT_TOKEN"'
  )
  const { value, file: path } = file('claude-code', closed)
  assert.equal(path, '.mcp.json')
  const headers = { Authorization: 'Bearer ${TOWPATH_CLIENT_TOKEN}' }
  assert.deepEqual(value, { mcpServers: { towpath: { type: 'http', url: open.url, headers } } })
})

test('Cursor: its file, and a link that holds the same entry', () => {
  const { value, file: path } = file('cursor', closed)
  assert.equal(path, '~/.cursor/mcp.json')
  const entry = { url: open.url, headers: { Authorization: 'Bearer ${env:TOWPATH_CLIENT_TOKEN}' } }
  assert.deepEqual(value, { mcpServers: { towpath: entry } })
  const link = new URL(first('cursor', closed).text)
  assert.equal(link.href.split('?')[0], 'cursor://anysphere.cursor-deeplink/mcp/install')
  assert.equal(link.searchParams.get('name'), 'towpath')
  assert.deepEqual(JSON.parse(atob(link.searchParams.get('config')!)), entry)
})

test('VS Code: `servers`, an input that is not shown, and a command that adds both', () => {
  const headers = { Authorization: 'Bearer ${input:towpath-token}' }
  const inputs = [{ type: 'promptString', id: 'towpath-token', description: 'Token for towpath', password: true }]
  const { value, file: path } = file('vscode', closed)
  assert.equal(path, '.vscode/mcp.json')
  assert.deepEqual(value, { inputs, servers: { towpath: { type: 'http', url: open.url, headers } } })
  const command = /^code --add-mcp '(.*)'$/.exec(first('vscode', closed).text)!
  assert.deepEqual(JSON.parse(command[1]!), { name: 'towpath', type: 'http', url: open.url, headers, inputs })
  assert.deepEqual(file('vscode', open).value, { servers: { towpath: { type: 'http', url: open.url } } })
})

test('Codex: TOML that names the variable, never a token', () => {
  assert.equal(
    first('codex', closed).text,
    'codex mcp add towpath --url http://localhost:8080/mcp --bearer-token-env-var TOWPATH_CLIENT_TOKEN'
  )
  assert.equal(
    file('codex', closed).text,
    '[mcp_servers.towpath]\nurl = "http://localhost:8080/mcp"\nbearer_token_env_var = "TOWPATH_CLIENT_TOKEN"'
  )
})

test('Claude Desktop: `towpath stdio` with the gateway, the group and a variable for the token', () => {
  const { value, file: path, note } = file('claude-desktop', closed)
  assert.equal(path, '{config}/Claude/claude_desktop_config.json')
  assert.match(note!, /full path.*<token>/)
  const args = ['stdio', '--registry', 'http://localhost:8080']
  assert.deepEqual(value, { mcpServers: { towpath: { command: 'towpath', args, env: { TOWPATH_TOKEN: '<token>' } } } })
  const url = 'https://tools.example.com/gateway/v0/groups/read-only/mcp'
  const group = file('claude-desktop', { ...open, url, program: ['/opt/node', '/opt/towpath/main.js'] })
  const rest = ['stdio', '--registry', 'https://tools.example.com/gateway', '--group', 'read-only']
  assert.deepEqual(group.value, {
    mcpServers: { towpath: { command: '/opt/node', args: ['/opt/towpath/main.js', ...rest] } }
  })
  assert.doesNotMatch(group.note!, /full path/)
})

test('Windsurf: `serverUrl`', () => {
  assert.deepEqual(file('windsurf', closed).value, {
    mcpServers: {
      towpath: { serverUrl: open.url, headers: { Authorization: 'Bearer ${env:TOWPATH_CLIENT_TOKEN}' } }
    }
  })
})

test('Gemini CLI, opencode and goose: each with its own names of members', () => {
  const headers = { Authorization: 'Bearer ${TOWPATH_CLIENT_TOKEN}' }
  assert.deepEqual(file('gemini-cli', closed).value, { mcpServers: { towpath: { httpUrl: open.url, headers } } })
  assert.deepEqual(file('opencode', closed).value, {
    mcp: {
      towpath: {
        type: 'remote',
        url: open.url,
        enabled: true,
        headers: { Authorization: 'Bearer {env:TOWPATH_CLIENT_TOKEN}' }
      }
    }
  })
  const goose = file('goose', closed)
  assert.equal(goose.file, '~/.config/goose/config.yaml')
  assert.deepEqual(parseYaml(goose.text), {
    extensions: {
      towpath: {
        name: 'towpath',
        type: 'streamable_http',
        enabled: true,
        uri: open.url,
        envs: {},
        env_keys: [],
        headers: { Authorization: 'Bearer <token>' },
        timeout: 300
      }
    }
  })
})

test('curl and the SDK: one request each', () => {
  const { text } = first('curl', closed)
  assert.match(text, /^curl -sS http:\/\/localhost:8080\/mcp \\\n/)
  assert.match(text, /-H "Authorization: Bearer \$TOWPATH_CLIENT_TOKEN"/)
  assert.equal(JSON.parse(/-d '(.*)'$/.exec(text)![1]!).method, 'initialize')
  assert.match(first('typescript', closed).text, /Bearer \$\{env\.TOWPATH_CLIENT_TOKEN\}/)
})

test('what a shell, a program or TOML would read otherwise is quoted', () => {
  const odd = { name: "a'b", url: "http://h/x?a=1&b='$(id)'" }
  assert.match(first('claude-code', odd).text, /'a'\\''b' 'http:\/\/h\/x\?a=1&b='\\''\$\(id\)'\\'''$/)
  assert.match(first('typescript', odd).text, /new URL\('http:\/\/h\/x\?a=1&b=\\'\$\(id\)\\''\)/)
  assert.equal(tomlTable(['a', 'b.c"'], { x: 'y"\\' }), '[a."b.c\\""]\nx = "y\\"\\\\"')
})

test('a snippet of a file is what its change makes of an empty file', () => {
  for (const client of FILE_CLIENTS) {
    const { place, members } = fileChange(client, closed)!
    const [key] = members.at(-1)!.path
    const snippet = clientSnippets(client, closed).find(({ file: shown }) => shown !== undefined)!
    assert.equal(snippet.language, place.language, client)
    assert.ok(snippet.text.includes(key!), client)
  }
})

test('docs/how-to/connect-clients.md shows the same forms', () => {
  const page = readFileSync(new URL('../../docs/how-to/connect-clients.md', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text = '']) =>
    language === 'json' ? JSON.stringify(parse(text)) : text.trim()
  )
  assert.ok(blocks.includes(first('claude-code', closed).text))
  for (const client of FILE_CLIENTS) {
    const { text, language } = file(client, closed)
    const shown = text.replace('<token>', 'twp_…')
    assert.ok(blocks.includes(language === 'json' ? JSON.stringify(parse(shown)) : shown), client)
  }
})
