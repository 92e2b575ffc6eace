import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { shorten, textRange } from '../../src/mcp/results/shorten.ts'

const resultOf = (content: unknown, more: object = {}) => Payload.of(JSON.stringify({ content, ...more }))
const text = (value: string) => ({ type: 'text', text: value })
const cutOf = (payload: Payload, max = 100) => shorten(payload, max, () => 'towpath://results/h')

test('a long text becomes its beginning, a line and its end, with a link; everything else stays byte for byte', () => {
  const long = `${'a'.repeat(500)}${'b'.repeat(500)}`
  const image = { type: 'image', data: 'x'.repeat(1_000), mimeType: 'image/png' }
  const short = cutOf(
    resultOf([text('short'), { ...text(long), annotations: { a: 1 } }, image], { structuredContent: { long } })
  )!
  const { content, structuredContent } = JSON.parse(short.result.toString()) as {
    content: Record<string, unknown>[]
    structuredContent: unknown
  }
  assert.deepEqual(short.cuts, [{ uri: 'towpath://results/h', text: long }])
  assert.deepEqual([content[0], content[3], structuredContent], [text('short'), image, { long }])
  const line = '[680 bytes of 1000 are left out; read them at towpath://results/h?from=240]'
  assert.deepEqual(content[1], { ...text(`${'a'.repeat(240)}\n${line}\n${'b'.repeat(80)}`), annotations: { a: 1 } })
  assert.deepEqual(content[2], {
    type: 'resource_link',
    uri: 'towpath://results/h',
    name: 'whole result',
    mimeType: 'text/plain',
    size: 1_000
  })
})

test('results without a long text are not touched', () => {
  for (const content of [
    [],
    [text('a'.repeat(400))],
    [text('"'.repeat(300))],
    'x',
    [1, null, { type: 'text', text: 5 }]
  ]) {
    assert.equal(cutOf(resultOf(content)), undefined)
  }
  assert.equal(cutOf(Payload.of(JSON.stringify({ other: 'x'.repeat(1_000) }))), undefined)
})

test('of one result at most sixteen texts are cut', () => {
  assert.equal(cutOf(resultOf(Array(40).fill(text('a'.repeat(401)))))!.cuts.length, 16)
})

test('parts of a text follow each other without a gap, whatever its characters', () => {
  const whole = 'aé東😀'.repeat(50)
  const bytes = Buffer.from(whole)
  for (let count = 1; count < 20; count++) {
    let read = ''
    for (let from = 0; from < bytes.length;) {
      const part = textRange(bytes, from, count)
      assert.ok(!part.text.includes('\uFFFD') && part.next > from)
      read += part.text
      from = part.next
    }
    assert.equal(read, whole)
  }
  assert.deepEqual(textRange(bytes, 10_000, 5), { text: '', next: bytes.length })
})
