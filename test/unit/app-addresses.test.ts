import assert from 'node:assert/strict'
import { test } from 'node:test'
import { membersOfBytes } from '../../src/json/bytes.ts'
import { Payload } from '../../src/json/payload.ts'
import { nameApps as nameApp } from '../../src/mcp/messages/app-addresses.ts'
import { complete, createSlicedWork } from '../../src/lib/time-slice.ts'
import type { CatalogServer } from '../../src/catalog/catalog.ts'
import type { UpstreamAnswer } from '../../src/upstream/transport/call.ts'
import { checkSteps, quickResultSteps } from '../../src/upstream/transport/message.ts'
import { resultWithAddresses } from '../../src/mcp/tasks/task-results.ts'
import { namedContents } from '../../src/mcp/messages/named-contents.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { catalogOf, storedServer, tool } from './stored.ts'

const chart = tool('chart', {
  definition: '{"name":"chart","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://x"}}}'
})
const [alpha] = catalogOf([storedServer('alpha', [chart])]).servers
const [plain] = catalogOf([storedServer('plain', [tool('echo')])]).servers
const [off] = catalogOf([storedServer('alpha', [], { settings: { url: 'http://a.test', apps: false } })]).servers

const never = createSlicedWork(0)
const nameApps = (received: UpstreamAnswer, server: CatalogServer, isBare?: boolean) => {
  const named = nameApp(received, server, never, isBare)
  assert.ok(!(named instanceof Promise))
  return named
}

function rename(result: string, server = alpha!): string {
  for (const body of [Payload.of(result), Payload.ofLatin1(Buffer.from(result).toString('latin1'))]) {
    const { answer } = nameApps({ answer: { kind: 'result', body }, era: 'legacy' }, server)
    if (answer.body === body) return result
    assert.equal(
      answer.body.toString(),
      nameApps({ answer: { kind: 'result', body: Payload.of(result) }, era: 'modern' }, server).answer.body.toString()
    )
  }
  return nameApps(
    { answer: { kind: 'result', body: Payload.of(result) }, era: 'legacy' },
    server
  ).answer.body.toString()
}

test('addresses in blocks and in _meta change, and everything else stays byte for byte', () => {
  const given =
    '{"content": [{"type":"resource_link","uri":"ui://x","n":1.0,"ü":"ü ui://x"}, {"type":"resource",' +
    '"resource":{"uri":"ui://ü","text":"ui://x"}},7],"structuredContent":{"uri":"ui://x"},"_meta": {"ui/resourceUri":"ui://x"}}'
  const named =
    '{"content": [{"type":"resource_link","uri":"ui://alpha/x","n":1.0,"ü":"ü ui://x"}, {"type":"resource",' +
    '"resource":{"uri":"ui://alpha/ü","text":"ui://x"}},7],"structuredContent":{"uri":"ui://x"},"_meta": {"ui/resourceUri":"ui://alpha/x"}}'
  assert.equal(rename(given), named)
})

test('no spelling hides an address', () => {
  const shown = (block: string) =>
    JSON.stringify((JSON.parse(rename(`{"content":[${block}]}`)) as { content: unknown }).content)
  const expected = '"ui://alpha/beta/x"'
  for (const block of [
    String.raw`{"type":"resource_link","uri":"ui:\/\/beta/x"}`,
    String.raw`{"type":"resource_link","\u0075ri":"\u0075i://beta/x"}`,
    String.raw`{"type":"resource_link","ur\u0069":"ui\u003a\u002f\u002fbeta/x"}`,
    String.raw`{"type":"resource_link","uri":" ui://beta/x"}`,
    String.raw`{"type":"resource_link","uri":"u\ti:\n//beta/x"}`,
    '{"uri":"file:///a","type":"resource_link","uri":"ui://beta/x"}',
    '{"type":"resource","resource":{"uri":"file:///a"},"resource":{"uri":"ui://beta/x"}}',
    '{"type":"unknown","uri":"ui://beta/x"}'
  ]) {
    assert.ok(shown(block).includes(expected), block)
  }
  assert.ok(shown('{"type":"resource_link","uri":"UI://beta/x"}').includes('"UI://alpha/beta/x"'))
  for (const block of ['{"uri":"ui:ui://beta/x"}', '{"uri":"xui://beta/x"}', '{"uri":"file:///ui://beta/x"}']) {
    assert.equal(shown(block), `[${block}]`)
  }
})

test('results of servers without interfaces are named too, also with escapes in keys', () => {
  assert.equal(rename('{"content":[{"uri":"ui://beta/x"}]}', plain!), '{"content":[{"uri":"ui://plain/beta/x"}]}')
  for (const key of [String.raw`ur\u0069`, String.raw`\u0075\u0072\u0069`, String.raw`u\u0072i`]) {
    const given = `{"content":[{"type":"resource","resource":{"${key}":"ui://beta/x"}},{"a":"100"}]}`
    assert.equal(rename(given, plain!), given.replace('ui://', 'ui://plain/'))
  }
  for (const text of [String.raw`{"content":[{"text":"\u00fcber \u0022 \\u0061"}]}`, '{"content":[{"text":"100"}]}'])
    assert.equal(rename(text, plain!), text)
})

/** Yields every spelling of a key: each character as it is or as an escape, with hexadecimal digits in either case. */
function* spellings(key: string): Generator<string> {
  if (key === '') return yield ''
  const hex = key.charCodeAt(0).toString(16).padStart(4, '0')
  const firsts = new Set([key[0]!, `\\u${hex}`, `\\u${hex.toUpperCase()}`])
  for (const rest of spellings(key.slice(1))) for (const first of firsts) yield first + rest
}

/** Returns a result as it is read from a server's message. */
function received(result: string): Payload {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${result}}`)
  return complete(quickResultSteps(bytes, '7', complete(checkSteps(bytes))))!.body
}

test('every spelling of the keys uri and _meta is found, in results and in the results of tasks', () => {
  const check = (given: string) => {
    const body = received(given)
    const { answer } = nameApps({ answer: { kind: 'result', body }, era: 'modern' }, alpha!)
    assert.equal(answer.body.toString(), given.replace('ui://', 'ui://alpha/'))
    assert.ok(resultWithAddresses(received(`{"result":${given}}`)), given)
  }
  for (const key of spellings('uri')) check(`{"content":[{"type":"resource_link","${key}":"ui://beta/x"}]}`)
  for (const key of spellings('_meta')) check(`{"content":[],"${key}":{"ui":{"resourceUri":"ui://beta/x"}}}`)
  const other = String.raw`{"content":[{"type":"text","text":"\\u0061 \u0430\u00e4\u003c ta\""}],"isError":false}`
  assert.equal(received(other).mayEscapeLetters, false)
  assert.equal(resultWithAddresses(received(`{"result":${other}}`)), undefined)
})

test('an alias in a result becomes an alias of its sender, in any spelling', () => {
  for (const uri of [
    'towpath://beta/file:///a',
    'towpath://alpha/file:///a',
    'TowPath://beta/file:///a',
    String.raw`towpath:\\beta/file:///a`,
    'towpath:%2F/beta/file:///a',
    ' towpath://beta/file:///a'
  ]) {
    const [block] = (JSON.parse(rename(JSON.stringify({ content: [{ uri }] }))) as { content: { uri: string }[] })
      .content
    assert.equal(block!.uri, `towpath://alpha/${uri}`)
  }
  for (const uri of ['towpath:beta', 'towpath:/beta', 'xtowpath://beta/a', 'file:///towpath://beta/a']) {
    const given = JSON.stringify({ content: [{ uri }] })
    assert.equal(rename(given), given)
  }
})

test('a message with an address behind its content keeps its place', () => {
  assert.equal(
    rename('{"messages":[{"role":"user","content":{"uri":"ui://a"},"uri":"ui://b"}]}'),
    '{"messages":[{"role":"user","content":{"uri":"ui://alpha/a"},"uri":"ui://alpha/b"}]}'
  )
})

test('a large result is named in steps, in the memory that it came in', () => {
  const text = 'x'.repeat(600)
  const block = (uri: string) => `{"type":"resource_link","uri":"${uri}","text":"${text}","n":"ü"}`
  const all = (of: (at: number) => string) =>
    `{"content":[${Array.from({ length: 9_000 }, (_, at) => block(of(at))).join(', ')}],"_meta":{"a":"ü"}}`
  const given = Buffer.from(all((at) => (at % 3 === 0 ? `ui://${at}` : `file:///${at}`)))
  const expected = all((at) => (at % 3 === 0 ? `ui://alpha/${at}` : `file:///${at}`))
  const chunks = Array.from({ length: Math.ceil(given.length / 65_536) }, (_, at) =>
    Buffer.from(given.subarray(at * 65_536, (at + 1) * 65_536))
  )
  const memory = new Set<ArrayBufferLike>(chunks.map(({ buffer }) => buffer))
  let steps = 0
  const slices = {
    tryRun<T>(_bytes: number, begin: () => Generator<void, T>) {
      const reading = begin()
      for (;;) {
        const { done, value } = reading.next()
        if (done) return Promise.resolve(value)
        steps++
      }
    }
  }
  const answer = {
    kind: 'result',
    body: Payload.ofBuffers(chunks, { members: membersOfBytes(given), base: 0 })
  } as const
  return Promise.resolve(nameApp({ answer, era: 'legacy' }, alpha!, slices)).then(({ answer: { body } }) => {
    assert.ok(steps > 9_000, `${steps} steps`)
    const copied = body.buffers.filter(({ buffer }) => !memory.has(buffer)).reduce((sum, { length }) => sum + length, 0)
    assert.ok(copied < 700_000, `${copied} of ${body.length} bytes were copied`)
    // joins the buffers
    assert.equal(body.toString(), expected)
  })
})

test('a result without interfaces is the same object', () => {
  for (const text of [
    '{"content":[{"type":"text","text":"ui://x"}]}',
    '{"content":[{"type":"resource_link","uri":"file:///a"}],"_meta":{"a":"ui://x"}}',
    '{"content":[]}',
    '{"content":null,"_meta":7}',
    '{"messages":[{"role":"user","content":{"type":"text","text":"\\u0075"}}]}'
  ]) {
    const answer = { kind: 'result', body: Payload.of(text) } as const
    const received = { answer, era: 'legacy' } as const
    assert.equal(nameApps(received, alpha!), received, text)
  }
})

test('references to the interfaces of other servers are those of the own server, and go if apps are off', () => {
  const meta = (uri: string) =>
    `{"content":[],"_meta":{"ui":{"resourceUri":"${uri}","a":1},"openai/outputTemplate":"${uri}"}}`
  assert.equal(rename(meta('ui://beta/x')), meta('ui://alpha/beta/x'))
  assert.equal(rename(meta('towpath://beta/ui://x')), meta('towpath://alpha/towpath://beta/ui://x'))
  assert.equal(rename(meta('ui://x'), off!), '{"content":[],"_meta":{"ui":{"a":1}}}')
})

test('in a bare group a result keeps its addresses, and only a server whose apps are off loses its references', () => {
  const text = '{"content":[{"type":"resource_link","uri":"ui://x"}],"_meta":{"ui":{"resourceUri":"ui://x","a":1}}}'
  const received = { answer: { kind: 'result', body: Payload.of(text) }, era: 'legacy' } as const
  assert.equal(nameApps(received, alpha!, true), received)
  assert.equal(
    nameApps(received, off!, true).answer.body.toString(),
    '{"content":[{"type":"resource_link","uri":"ui://x"}],"_meta":{"ui":{"a":1}}}'
  )
})

test('blocks beyond the limit pass if they cannot name an interface, otherwise the result is refused', () => {
  const blocks = (last: string) => `{"content":[${'{"uri":1},'.repeat(10_000)}${last}]}`
  const plain = blocks('{"uri":"file:///a"}')
  assert.equal(rename(plain), plain)
  for (const last of [
    '{"uri":"ui://beta/x"}',
    '{"uri":"towpath://beta/x"}',
    '{"uri":"\\u0075i://beta/x"}',
    '{"uri":"\\tUI://beta/x"}'
  ]) {
    assert.throws(() => rename(blocks(last)), UpstreamFailure, last)
  }
})

test('a large result is named in slices, with the same outcome', async () => {
  const large = (...blocks: string[]) =>
    `{"content":[${`{"type":"text","text":"${'ü'.repeat(200_000)}"},`}${blocks.join()}]}`
  const inSlices = async (text: string) => {
    const named = nameApp(
      { answer: { kind: 'result', body: received(text) }, era: 'modern' },
      alpha!,
      createSlicedWork(1e9)
    )
    assert.ok(named instanceof Promise)
    return (await named).answer.body
  }
  for (const text of [
    large('{"type":"resource_link","uri":"ui://ü"}', '{"resource":{"uri":"ui:\\/\\/y"}}'),
    large('{"uri":"file:///a"}'),
    `{"_meta":{"ui":{"resourceUri":"ui://x"}},${large('{"uri":"ui://x"}').slice(1)}`
  ]) {
    assert.equal((await inSlices(text)).toString(), rename(text))
  }
  await assert.rejects(
    inSlices(large(...Array.from({ length: 10_000 }, () => '{}'), '{"uri":"ui://x"}')),
    UpstreamFailure
  )
  const small = received('{"content":[{"uri":"ui://x"}]}')
  const answer = { answer: { kind: 'result', body: small }, era: 'modern' } as const
  assert.ok(!(nameApp(answer, alpha!, createSlicedWork(1e9)) instanceof Promise), 'small ones are named at once')
})

test('malformed JSON is a failure of the server', () => {
  for (const text of ['{"content":[{"uri":"\\x"}]}', '{"content":[{"uri":"a"', '[]']) {
    assert.throws(() => rename(text), UpstreamFailure, text)
  }
})

test('contents of a read interface show the address that was asked for, others of the server their own', () => {
  const read = (form: 'own' | 'alias' | 'named', uri: string, ...uris: string[]) => {
    const result = Payload.of(JSON.stringify({ contents: uris.map((each) => ({ uri: each, text: 'ui:' })) }))
    const named = namedContents(result, { server: alpha!, uri, form })
    return (JSON.parse(named.toString()) as { contents: { uri: string }[] }).contents.map((content) => content.uri)
  }
  assert.deepEqual(read('named', 'ui://x', 'ui://x', 'ui://beta/y', 'file:///a'), [
    'ui://alpha/x',
    'ui://alpha/beta/y',
    'file:///a'
  ])
  assert.deepEqual(read('own', 'ui://x', 'ui://x', 'ui://beta/y'), ['ui://x', 'ui://alpha/beta/y'])
  assert.deepEqual(read('alias', 'ui://x', 'ui://x', 'ui://y'), ['towpath://alpha/ui://x', 'ui://alpha/y'])
  assert.deepEqual(read('own', 'file:///a', 'file:///a', 'UI://beta/y'), ['file:///a', 'UI://alpha/beta/y'])
})
