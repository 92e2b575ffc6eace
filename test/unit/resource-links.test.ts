import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { createResourceLinks } from '../../src/mcp/messages/resource-links.ts'

const json = (value: unknown) => Payload.of(JSON.stringify(value))

test('links and embedded resources of tools and prompts lead back to the server that sent them', () => {
  const links = createResourceLinks()
  links.record(
    'ann',
    'alpha',
    json({
      content: [
        { type: 'resource_link', uri: 'a://1' },
        { type: 'text', text: '"uri"' }
      ]
    })
  )
  links.record(
    'ann',
    'beta',
    json({ messages: [{ content: { type: 'resource', resource: { uri: 'b://1', text: '' } } }] })
  )
  assert.equal(links.find('ann', 'a://1'), 'alpha')
  assert.equal(links.find('ann', 'b://1'), 'beta')
})

test('the URIs of a result are found whatever their characters, and however they are spelled', () => {
  const links = createResourceLinks()
  const text = String.raw`{"content":[{"type":"resource_link","uri":"a://ü/\u00fc/\ud83d\ude00"},{"type":"resource_link","uri":"a://😀"}]}`
  links.record('ann', 'alpha', Payload.of(text))
  assert.equal(links.find('ann', 'a://ü/ü/😀'), 'alpha')
  assert.equal(links.find('ann', 'a://😀'), 'alpha')
})

test('a link is known only to the principal that got it', () => {
  const links = createResourceLinks()
  links.record('ann', 'alpha', json({ content: [{ type: 'resource_link', uri: 'a://1' }] }))
  assert.equal(links.find('bob', 'a://1'), undefined)
})

const link = (...uris: string[]) => json({ content: uris.map((uri) => ({ type: 'resource_link', uri })) })

test('SR-M6 of servers that sent the same URI the first is asked for it: none takes it from another', () => {
  const links = createResourceLinks()
  links.record('ann', 'alpha', link('a://1'))
  links.record('ann', 'beta', link('a://1'))
  assert.equal(links.find('ann', 'a://1'), 'alpha', 'the first one')
  links.record('ann', 'alpha', link('a://1'))
  links.record('ann', 'beta', link('a://1'))
  assert.equal(links.find('ann', 'a://1'), 'alpha', 'it stays the first when it sends it again')
  links.record('bob', 'beta', link('a://1'))
  assert.equal(links.find('bob', 'a://1'), 'beta', 'each principal has its own')
})

test('SR-H3 of too many links of a server those of the principal with most are forgotten, the oldest first', () => {
  const links = createResourceLinks()
  links.record('ann', 'alpha', link('a://1'))
  for (let i = 0; i < 20_000; i++) links.record('bob', 'alpha', link(`x://${i}`))
  assert.equal(links.find('ann', 'a://1'), 'alpha')
  assert.deepEqual([links.find('bob', 'x://0'), links.find('bob', 'x://19999')], [undefined, 'alpha'])
})

test('SR-H3 a server that sends many or long links pushes out its own alone', () => {
  const links = createResourceLinks()
  links.record('ann', 'good', link('a://1'))
  const long = (i: number) => `x://${i}/${'x'.repeat(8_000)}`
  for (let i = 0; i < 2_000; i++) links.record('ann', 'bad', link(long(i)))
  assert.equal(links.find('ann', 'a://1'), 'good')
  assert.deepEqual([links.find('ann', long(0)), links.find('ann', long(1_999))], [undefined, 'bad'])
})

test('SR-H3 a link that is longer than a request may name, and the thousand and first of a result, are not kept', () => {
  for (const shape of ['link', 'resource', 'message']) {
    const links = createResourceLinks()
    const body = (uris: readonly string[]) => {
      const content = uris.map((uri) =>
        shape === 'link' ? { type: 'resource_link', uri } : { type: 'resource', resource: { uri } }
      )
      return json(shape === 'message' ? { messages: content.map((each) => ({ content: each })) } : { content })
    }
    const long = `a://${'x'.repeat(10_000_000)}`
    links.record('ann', 'alpha', body([long, 'a://short']))
    assert.deepEqual([links.find('ann', long), links.find('ann', 'a://short')], [undefined, 'alpha'])
    links.record('ann', 'alpha', body(Array.from({ length: 1_500 }, (_, i) => `b://${i}`)))
    assert.deepEqual([links.find('ann', 'b://999'), links.find('ann', 'b://1000')], ['alpha', undefined])
  }
})

test('what is no result, or holds a uri elsewhere, is passed over', () => {
  const links = createResourceLinks()
  for (const body of [
    'not json "uri"',
    '[{"uri":"a://1"}]',
    '{"content":{"uri":"a://1"}}',
    '{"content":[null,{"type":"x","uri":"a://1"}]}'
  ]) {
    links.record('ann', 'alpha', Payload.of(body))
  }
  assert.equal(links.find('ann', 'a://1'), undefined)
})

test('SR-H3 a result of millions of elements is not built to find its links', () => {
  const links = createResourceLinks()
  const result = Payload.of(
    `{"content":[{"type":"resource_link","uri":"a://first"},${'{},'.repeat(900_000)}{"type":"resource_link","uri":"a://last"}]}`
  )
  const small = Payload.of(`{"content":[${'{},'.repeat(9_000)}{"type":"resource_link","uri":"a://small"}]}`)
  links.record('ann', 'alpha', small)
  const before = process.memoryUsage().heapUsed
  links.record('ann', 'alpha', result)
  const taken = process.memoryUsage().heapUsed - before
  // 900,000 objects take more than 40 MB
  assert.ok(taken < 20_000_000, `${taken} bytes to find links`)
  assert.deepEqual(
    ['a://small', 'a://first', 'a://last'].map((uri) => links.find('ann', uri)),
    ['alpha', 'alpha', undefined],
    'blocks behind the first ten thousand are not looked at'
  )
})

test('links are found by their own type alone, also with escapes and repeated members', () => {
  const links = createResourceLinks()
  const text = String.raw`{"content":[{"type":"text","uri":"a://1"},{"type":"resource_link","uri":"a://\u0032"},{"type":"resource","resource":{"uri":["a://3"]}},{"type":"resource_link","uri":"a://no","uri":"a://4"},null,7],"x":"\u0022"}`
  links.record('ann', 'alpha', Payload.of(text))
  assert.deepEqual(
    ['a://1', 'a://2', 'a://3', 'a://no', 'a://4'].map((uri) => links.find('ann', uri)),
    [undefined, 'alpha', undefined, undefined, 'alpha'],
    'the URIs of links'
  )
})
