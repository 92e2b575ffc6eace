import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { type JsonObject, parseJson } from '../../dashboard/src/form/json.ts'
import { promptSchema } from '../../dashboard/src/prompts/prompt-schema.ts'
import { expandTemplate, templateVariables } from '../../dashboard/src/resources/template.ts'
import { annotationsOf } from '../../dashboard/src/tools/annotations.ts'
import { asCli, asCurl, asJsonRpc, invokeRequest } from '../../dashboard/src/tools/curl.ts'
import { filterFrom, filterQuery, type ToolFilter } from '../../dashboard/src/tools/filter.ts'
import { selectedItems, entriesOf, listItems, summary, toggleAll } from '../../dashboard/src/tools/list.ts'
import type { ToolView } from '../../src/schemas/dashboard/tools.ts'
import { base64Bytes, blocksOf, contentsBlock, safeLink } from '../../dashboard/src/results/blocks.ts'
import { cpuMs } from '../cpu.ts'

const noFilter: ToolFilter = { q: '', server: '', state: 'all' }

const view = (canonical_name: string, members: Partial<ToolView> = {}): ToolView => {
  const [server = '', name = ''] = canonical_name.split('__')
  const flags: ToolView['flags'] = []
  return {
    canonical_name,
    name,
    server,
    enabled: true,
    server_enabled: true,
    server_status: 'connected',
    tokens: 10,
    flags,
    input_schema: {},
    ...members
  }
}

const tools = [
  view('git__commit', { description: 'Records a change', annotations: { destructiveHint: true } }),
  view('git__log', { title: 'History', enabled: false }),
  view('web__fetch', { flags: ['changed', 'hidden_characters'] }),
  view('web__search', { server_enabled: false, tokens: 7 })
]
const texts = ({ canonical_name, title, description }: ToolView) => [canonical_name, title, description]
const entries = entriesOf(tools, texts)
const names = (filter: object) =>
  listItems(entries, { ...noFilter, ...filter }).sections.map(({ server, items: shown }) => [
    server,
    ...shown.map(({ name }) => name)
  ])

test('tools stand under their server, with counts of the whole server', () => {
  const { sections } = listItems(entries, { ...noFilter, q: 'commit' })
  assert.deepEqual(
    sections.map(({ server, total, disabled, items: shown }) => [server, total, disabled, shown.length]),
    [['git', 2, 1, 1]]
  )
})

test('words are found in name, title and description, all of them, in any order and case', () => {
  assert.deepEqual(names({ q: 'CHANGE git' }), [['git', 'commit']])
  assert.deepEqual(names({ q: 'history' }), [['git', 'log']])
  assert.deepEqual(names({ q: 'change fetch' }), [])
})

test('the list is narrowed by server and by state', () => {
  assert.deepEqual(names({ server: 'web' }), [['web', 'fetch', 'search']])
  assert.deepEqual(names({ state: 'disabled' }), [['git', 'log']])
  assert.deepEqual(names({ state: 'enabled', q: 'git' }), [['git', 'commit']])
  assert.deepEqual(names({ state: 'flagged' }), [['web', 'fetch']])
})

test('the filter goes into the URL and comes back, and what filters nothing is not there', () => {
  const filter = { q: 'a b/c', server: 'web', state: 'disabled' as const }
  assert.deepEqual(filterFrom(new URLSearchParams(filterQuery(filter))), filter)
  assert.deepEqual(filterQuery(noFilter), {})
  assert.deepEqual(filterFrom(new URLSearchParams('state=odd')), noFilter)
})

test('a bulk action works on the selected tools that are shown', () => {
  const all = toggleAll(listItems(entries, noFilter).shown, new Set())
  assert.equal(all.size, 4)
  const { shown } = listItems(entries, { ...noFilter, server: 'git' })
  assert.deepEqual(
    selectedItems(shown, all).map(({ name }) => name),
    ['commit', 'log']
  )
  const rest = toggleAll(shown, all)
  assert.deepEqual([...rest], ['web__fetch', 'web__search'], 'hidden ones keep their mark')
})

test('served tools are those that agents can call', () => {
  assert.deepEqual(summary(tools), { served: 2, disabled: 2, servers: 2, tokens: 20 })
})

test('2,000 tools are filtered in a small part of the 100 ms that a key may take', async () => {
  const many = Array.from({ length: 2_000 }, (_, i) =>
    view(`server${i % 20}__tool_${i}`, { description: `${'Lorem ipsum dolor sit amet. '.repeat(20)}${i}` })
  )
  const index = entriesOf(many, texts)
  const times: number[] = []
  for (const q of ['t', 'to', 'tool_19', 'lorem 1999']) {
    times.push(await cpuMs(() => listItems(index, { ...noFilter, q })))
  }
  assert.ok(Math.min(...times) < 50, `${times.join(', ')} ms`)
})

test('hints are told as they were given, and a read-only tool is neither destructive nor idempotent', () => {
  assert.deepEqual(annotationsOf(undefined), [])
  assert.deepEqual(annotationsOf({ readOnlyHint: true, destructiveHint: true, idempotentHint: true }), ['read-only'])
  assert.deepEqual(annotationsOf({ destructiveHint: true, openWorldHint: true, idempotentHint: 'yes' }), [
    'destructive',
    'open world'
  ])
})

const call = (args: string) => ({ name: 's__t', args: parseJson(args) as JsonObject })

test('arguments lie beside the name, and in "arguments" where they would be taken for something else', () => {
  const path = '/api/v0/tools/invoke'
  assert.deepEqual(invokeRequest(call('{"a":1}')), { path, body: { name: 's__t', a: 1 } })
  for (const text of ['{"name":"x","a":1}', '{"arguments":{"a":1}}', '{"name":"x","arguments":{}}']) {
    const body = { name: 's__t', arguments: parseJson(text) }
    assert.deepEqual(invokeRequest(call(text)), { path: `${path}?arguments=object`, body }, text)
  }
})

test('a copied command is one that a shell reads as it was meant', () => {
  const odd = call(String.raw`{"text":"it's $HOME \"quoted\" \n end","id":12345678901234567890}`)
  const run = (command: string) =>
    execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; towpath() { curl "$@"; }; ${command}`], {
      encoding: 'utf8'
    }).split('\0')
  const curl = run(asCurl(odd, { address: 'http://localhost:8080' }))
  assert.deepEqual(curl.slice(0, 4), [
    '-sS',
    'http://localhost:8080/api/v0/tools/invoke',
    '-H',
    'Content-Type: application/json'
  ])
  assert.equal(curl[5], String.raw`{"name":"s__t","text":"it's $HOME \"quoted\" \n end","id":12345678901234567890}`)
  assert.deepEqual(run(asCli(odd, 'towpath')).slice(0, 3), ['invoke', 's__t', '--input'])
  const target = { address: 'https://towpath.example', tokenVariable: 'TOWPATH_TOKEN' }
  const withToken = asCurl(odd, target)
  assert.match(withToken, /-H "Authorization: Bearer \$TOWPATH_TOKEN"/)
  assert.deepEqual(run(`TOWPATH_TOKEN='a "token"'; ${withToken}`).slice(2, 4), [
    '-H',
    'Authorization: Bearer a "token"'
  ])
})

test('a copied request is one of JSON-RPC', () => {
  assert.deepEqual(JSON.parse(asJsonRpc(call('{"a":1}'))), {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 's__t', arguments: { a: 1 } }
  })
})

const png = Buffer.from('png').toString('base64')

test('parts of a result are told apart by what they are', () => {
  const blocks = blocksOf([
    { type: 'text', text: 'Hello <b>' },
    { type: 'text', text: ' {"id": 12345678901234567890}' },
    { type: 'text', text: '42' },
    { type: 'image', data: png, mimeType: 'image/png' },
    { type: 'audio', data: png, mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain', size: 3 },
    { type: 'resource', resource: { uri: 'x:y', text: '[1]', mimeType: 'application/json' } },
    { type: 'video', data: png },
    'odd'
  ])
  assert.deepEqual(
    blocks.map(({ kind }) => kind),
    ['text', 'json', 'text', 'image', 'audio', 'link', 'json', 'other', 'other']
  )
  assert.deepEqual(blocks[3], { kind: 'image', url: `data:image/png;base64,${png}`, mimeType: 'image/png', bytes: 3 })
  assert.deepEqual(blocks[5], { kind: 'link', uri: 'file:///a', name: 'a', details: ['text/plain', '3 bytes'] })
})

test('text that only looks like JSON is text', () => {
  assert.equal(contentsBlock({ text: '{not json', mimeType: 'application/json' }).kind, 'text')
  assert.equal(contentsBlock({ text: '"word"', mimeType: 'application/json' }).kind, 'text')
})

test('only pictures and sounds of known types become data URLs, without parameters, and other bytes are a file', () => {
  const kindOf = (mimeType: string, blob = png) => contentsBlock({ blob, mimeType, uri: 'x:y' }).kind
  assert.equal(kindOf('image/svg+xml'), 'image')
  assert.equal(kindOf('text/html'), 'file')
  assert.equal(kindOf('image/png,<script>'), 'file')
  assert.equal(kindOf('application/pdf'), 'file')
  assert.equal(kindOf('image/png', 'not base64!'), 'file')
  assert.equal(kindOf('image/png', 'A'.repeat(12_000_000)), 'file', 'too large to be shown')
  const block = contentsBlock({ blob: png, mimeType: 'IMAGE/PNG; charset=x' })
  assert.ok(block.kind === 'image' && block.url === `data:image/png;base64,${png}`)
})

test('bytes are counted without decoding', () => {
  for (const text of ['', 'a', 'ab', 'abc', 'abcd']) {
    assert.equal(base64Bytes(Buffer.from(text).toString('base64')), text.length)
  }
})

test('only http and https lead out of the dashboard', () => {
  assert.equal(safeLink('https://example.com/a'), 'https://example.com/a')
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'x:y',
    'no url',
    ' java\nscript:alert(1)'
  ]) {
    assert.equal(safeLink(uri), undefined, uri)
  }
})

test('a template of URIs becomes the URI that it stands for', () => {
  const expand = (template: string) => expandTemplate(template, { a: 'x/y z', b: 'ü', c: '' })
  assert.equal(expand('file:///{a}'), 'file:///x%2Fy%20z')
  assert.equal(expand('file:///{+a}'), 'file:///x/y%20z')
  assert.equal(expand('t:{/a,b}{?b,c,gone}{&a}{#b}'), 't:/x%2Fy%20z/%C3%BC?b=%C3%BC&a=x%2Fy%20z#%C3%BC')
  assert.equal(expand('t:{a:1}{.b}{;b}'), 't:x.%C3%BC;b=%C3%BC')
  assert.equal(expand('t:{constructor}'), 't:')
  assert.deepEqual(templateVariables('t:{/a,b*}{?b,c:3}{+d}{}'), ['a', 'b', 'c', 'd'])
})

test('arguments of a prompt are texts, those that it needs required', () => {
  const list = [{ name: 'topic', description: 'What about', required: true }, { name: 'tone' }]
  assert.deepEqual(promptSchema({ arguments: list }), {
    type: 'object',
    properties: { topic: { type: 'string', description: 'What about' }, tone: { type: 'string' } },
    required: ['topic'],
    additionalProperties: false
  })
})
