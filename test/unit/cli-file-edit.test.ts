import assert from 'node:assert/strict'
import test from 'node:test'
import { changedLines, edited } from '../../src/cli/connect/file-edit.ts'
import type { Failure } from '../../src/cli/io/failure.ts'
import { fileChange, type Target } from '../../src/domain/client-snippets.ts'

const target: Target = { name: 'towpath', url: 'http://h/mcp' }
const closed: Target = { ...target, tokenVariable: 'T' }
const edit = (client: 'cursor' | 'vscode' | 'codex', text: string, to = target) =>
  edited(text, fileChange(client, to)!, 'file')
const refuses = (client: 'cursor' | 'codex', text: string) =>
  assert.throws(
    () => edit(client, text),
    (error: Failure) => error.exitCode === 2 && !error.message.includes('secret'),
    text
  )

test('an empty file becomes one with the entry', () => {
  const expected = { mcpServers: { towpath: { url: 'http://h/mcp' } } }
  for (const text of ['', '{}', '{ // nothing\n}']) {
    const json = edit('cursor', text).replace('// nothing', '')
    assert.deepEqual(JSON.parse(json), expected)
  }
  assert.equal(edit('codex', ''), '[mcp_servers.towpath]\nurl = "http://h/mcp"\n')
})

test('in JSON everything else stays as it is, comments and indents too', () => {
  const text = '{\n\t// mine\n\t"other": 1,\n\t"mcpServers": {\n\t\t"a": { "command": "x" }, // keep\n\t},\n}\n'
  const result = edit('cursor', text)
  assert.match(result, /\/\/ mine\n\t"other": 1,/)
  assert.match(result, /\/\/ keep/)
  assert.match(result, /\n\t\t"towpath": \{\n\t\t\t"url": "http:\/\/h\/mcp"\n\t\t\}/)
  assert.equal(edit('cursor', result), result)
  const moved = edit('cursor', result.replace('http://h/mcp', 'http://old/mcp'))
  assert.equal(moved, result)
})

test('an input of VS Code takes the place of the one with its id, and leaves the others', () => {
  const text = '{"inputs": [{"id": "a"}, {"id": "towpath-token", "type": "old"}], "servers": {}}'
  for (const from of [text, edit('vscode', text, closed)]) {
    const { inputs } = JSON.parse(edit('vscode', from, closed)) as { inputs: { id: string; type?: string }[] }
    assert.deepEqual(
      inputs.map(({ id, type }) => [id, type]),
      [
        ['a', undefined],
        ['towpath-token', 'promptString']
      ]
    )
  }
  const appended = JSON.parse(edit('vscode', '{"inputs": [{"id": "a"}]}', closed)) as { inputs: { id: string }[] }
  assert.deepEqual(
    appended.inputs.map(({ id }) => id),
    ['a', 'towpath-token']
  )
})

test('in TOML a table is appended, or takes the place of the one of its name', () => {
  const text = '# mine\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "x"\n'
  const result = edit('codex', text, closed)
  const table = '[mcp_servers.towpath]\nurl = "http://h/mcp"\nbearer_token_env_var = "T"\n'
  assert.equal(result, `${text}\n${table}`)
  assert.equal(edit('codex', result, closed), result)
  const between = `${result}\n[other]\ny = [\n  1\n]\n`
  assert.equal(edit('codex', between, closed), between)
  assert.equal(edit('codex', between.replace('http://h', 'http://old'), closed), between)
})

test('a file in a form that cannot be edited safely is refused without showing what it holds', () => {
  for (const text of ['{"a": secret', '[1]', '"secret"']) refuses('cursor', text)
  for (const text of [
    'mcp_servers = { secret = {} }',
    'mcp_servers.towpath.url = "secret"',
    '[mcp_servers]\ntowpath = { url = "secret" }',
    '["mcp_servers".towpath]\nurl = "secret"',
    '[mcp_servers.towpath]\nargs = [\n"secret"\n]'
  ])
    refuses('codex', text)
})

test('changed lines are those from the first to the last that differs', () => {
  assert.deepEqual(changedLines('a\nb\nc\n', 'a\nx\ny\nc\n'), ['- b', '+ x', '+ y'])
  assert.deepEqual(changedLines('', 'a\n'), ['+ a'])
  assert.deepEqual(changedLines('a\na\n', 'a\n'), ['- a'])
  assert.deepEqual(changedLines('a\n', 'a\n'), [])
})
