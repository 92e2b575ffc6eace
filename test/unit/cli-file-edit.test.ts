import assert from 'node:assert/strict'
import test from 'node:test'
import { changedLines, maskLine } from '../../src/cli/clients/changed-lines.ts'
import { editConfig, parseConfig } from '../../src/cli/clients/edit.ts'
import type { Failure } from '../../src/cli/io/failure.ts'
import { FILE_CLIENTS, type ConfigLanguage } from '../../src/domain/clients/clients.ts'
import { fileChange, type ClientName, type Target } from '../../src/domain/clients/snippets.ts'

const target: Target = { name: 'towpath', url: 'http://h/mcp' }
const closed: Target = { ...target, tokenVariable: 'T' }

const edit = (client: ClientName, text: string, to = target) => {
  const { place, members } = fileChange(client, to)!
  return editConfig(text, place.language, members, 'file')
}
const remove = (language: ConfigLanguage, text: string, ...path: string[]) =>
  editConfig(text, language, [{ path, value: undefined }], 'file')
const refuses = (client: ClientName, text: string) =>
  assert.rejects(
    edit(client, text),
    (error: Failure) => error.exitCode === 2 && !error.message.includes('secret'),
    text
  )

test('each client’s file can be created, and writing it again changes nothing', async () => {
  for (const client of FILE_CLIENTS) {
    const created = await edit(client, '', closed)
    const { place, members } = fileChange(client, closed)!
    const document = (await parseConfig(created, place.language, 'file')) as Record<string, Record<string, unknown>>
    const { path, value } = members.at(-1)!
    assert.deepEqual(document[path[0]!]![path[1]!], value, client)
    assert.equal(await edit(client, created, closed), created, client)
  }
})

test('an empty file, or one with only comments, gets the entry', async () => {
  const expected = { mcpServers: { towpath: { url: 'http://h/mcp' } } }
  for (const text of ['', '{}', '{ // nothing\n}', '// nothing\n'])
    assert.deepEqual(await parseConfig(await edit('cursor', text), 'json', 'file'), expected)
  assert.equal(await edit('codex', ''), '[mcp_servers.towpath]\nurl = "http://h/mcp"\n')
  assert.match(await edit('goose', '# mine\n'), /^# mine\nextensions:\n {2}towpath:\n {4}name: towpath\n/)
})

test('in JSON everything else stays as it is, comments and indents too', async () => {
  const text = '{\n\t// mine\n\t"other": 1,\n\t"mcpServers": {\n\t\t"a": { "command": "x" }, // keep\n\t},\n}\n'
  const result = await edit('cursor', text)
  assert.match(result, /\/\/ mine\n\t"other": 1,/)
  assert.match(result, /\/\/ keep/)
  assert.match(result, /\n\t\t"towpath": \{\n\t\t\t"url": "http:\/\/h\/mcp"\n\t\t\}/)
  assert.equal(await edit('cursor', result.replace('http://h/mcp', 'http://old/mcp')), result)
  const windows = await edit('cursor', '\ufeff{\r\n  "mcpServers": {\r\n  }\r\n}\r\n')
  assert.match(windows, /^\ufeff\{\r\n/)
  assert.doesNotMatch(windows, /[^\r]\n/)
})

test('a member of JSON is removed with its own lines, and no comment of another one', async () => {
  const text = `{
  "mcpServers": {
    // about a
    "a": { "command": "x" }, // of a
    // about b
    "b": {
      "command": "y"
    },
    // about c
    "c": { "command": "z" } /* last */
  },
  "other": [1, 2,],
}
`
  const withoutA = await remove('json', text, 'mcpServers', 'a')
  assert.equal(withoutA, text.replace('    "a": { "command": "x" }, // of a\n', ''))
  const withoutC = await remove('json', text, 'mcpServers', 'c')
  assert.match(withoutC, /"command": "y"\n {4}\}\n {4}\/\/ about c\n {2}\},/)
  assert.equal(await remove('json', '{"a": {"b": 1,}}', 'a', 'b'), '{"a": {}}\n')
  assert.equal(await remove('json', '{"a": {"b": 1, "c": 2}}\n', 'a', 'c'), '{"a": {"b": 1 }}\n')
  assert.equal(await remove('json', text, 'mcpServers', 'unknown'), text)
})

test('an input of VS Code takes the place of the one with its id, and leaves the others', async () => {
  const text = '{"inputs": [{"id": "a"}, {"id": "towpath-token", "type": "old"}], "servers": {}}'
  for (const from of [text, await edit('vscode', text, closed)]) {
    const { inputs } = JSON.parse(await edit('vscode', from, closed)) as { inputs: { id: string; type?: string }[] }
    assert.deepEqual(
      inputs.map(({ id, type }) => [id, type]),
      [
        ['a', undefined],
        ['towpath-token', 'promptString']
      ]
    )
  }
  const appended = JSON.parse(await edit('vscode', '{"inputs": [{"id": "a"}]}', closed)) as { inputs: unknown[] }
  assert.equal(appended.inputs.length, 2)
})

test('in TOML a table is appended, or takes the place of the one of its name', async () => {
  const text = '# mine\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "x"\n'
  const result = await edit('codex', text, closed)
  const table = '[mcp_servers.towpath]\nurl = "http://h/mcp"\nbearer_token_env_var = "T"\n'
  assert.equal(result, `${text}\n${table}`)
  const between = `${result}\n[other]\ny = [\n  1\n]\n`
  assert.equal(await edit('codex', between, closed), between)
  assert.equal(await edit('codex', between.replace('http://h', 'http://old'), closed), between)
  for (const other of ['mcp_servers.towpath.url = "old"\n', '[mcp_servers]\ntowpath = { url = "old" }\n'])
    assert.ok((await edit('codex', other, closed)).endsWith(table), other)
})

test('a table of TOML is removed with its own tables, wherever they stand, and nothing else', async () => {
  const text = `# top
model = "m" # keep

[mcp_servers.a]
command = "x"
args = [
  "1", # one
]

[mcp_servers.a.env]
K = "v"

# about b
[mcp_servers.b]
command = "y"

[profiles.a]
z = 1979-05-27T07:32:00Z

[mcp_servers."a".more]
w = 1
`
  const result = await remove('toml', text, 'mcp_servers', 'a')
  assert.equal(
    result,
    '# top\nmodel = "m" # keep\n\n# about b\n[mcp_servers.b]\ncommand = "y"\n\n[profiles.a]\nz = 1979-05-27T07:32:00Z\n'
  )
  assert.equal(await remove('toml', 'a.b.c = 1\na.d = 2\n', 'a', 'b'), 'a.d = 2\n')
})

test('in YAML only the lines of the member change', async () => {
  const text = `# goose
GOOSE_MODEL:   "m"   # keep
extensions:
    # built in
    developer:
        enabled: true
        type: builtin

    memory: # stays
        cmd: npx
        args: ['-y', "a b"]
tail: |
  text
`
  const added = await edit('goose', text)
  assert.ok(added.startsWith(text.slice(0, text.indexOf('tail:'))))
  assert.match(added, /\n {4}towpath:\n {6}name: towpath\n[^]*timeout: 300\ntail: \|\n {2}text\n$/)
  assert.equal(await edit('goose', added), added)
  assert.equal(await remove('yaml', added, 'extensions', 'towpath'), text)
  const withoutMemory = await remove('yaml', text, 'extensions', 'memory')
  assert.match(withoutMemory, /GOOSE_MODEL: {3}"m" {3}# keep\n[^]*type: builtin\n[^]*tail: \|\n/)
  assert.doesNotMatch(withoutMemory, /npx/)
  const flow = await edit('goose', 'extensions: { a: { cmd: x } } # flow\n')
  assert.match(flow, /a: .*cmd: x/)
  assert.match(flow, /# flow/)
})

test('a file in a form that cannot be edited safely is refused without showing what it holds', async () => {
  for (const text of ['{"a": secret', '[1]', '"secret"', '{"mcpServers": "secret"}', '{"mcpServers": ["secret"]}'])
    await refuses('cursor', text)
  await refuses('cursor', `${'['.repeat(100_000)}secret`)
  for (const text of [
    'mcp_servers = { secret = {} }',
    'mcp_servers = "secret"',
    'a = secret',
    '[[mcp_servers]]\na = "secret"'
  ])
    await refuses('codex', text)
  for (const text of ['extensions: [secret]', 'a: "secret', 'extensions: &a\n  b: *secret\n', '- secret'])
    await refuses('goose', text)
})

test('changed lines are those from the first to the last that differs, with secrets masked', () => {
  assert.deepEqual(changedLines('a\nb\nc\n', 'a\nx\ny\nc\n'), ['- b', '+ x', '+ y'])
  assert.deepEqual(changedLines('', 'a\n'), ['+ a'])
  assert.deepEqual(changedLines('a\na\n', 'a\n'), ['- a'])
  assert.deepEqual(changedLines('a\n', 'a\n'), [])
  for (const line of [
    '"API_KEY": "hunter22",',
    "api_key = 'hunter22'",
    '  API_KEY: hunter22',
    'Authorization: "Bearer hunter22"'
  ])
    assert.doesNotMatch(maskLine(`- ${line}`), /hunter22/, line)
})
