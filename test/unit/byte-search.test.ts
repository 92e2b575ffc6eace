import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createByteSearch } from '../../src/domain/byte-search.ts'
import { createScreen } from '../../src/gateway/upstream/result-secrets.ts'

const half = 'A'.repeat(4_096)
const secrets = [`${half}B${half}`]

test('text that looks like a long pattern at every place costs comparisons in proportion to its length', () => {
  let looks = 0
  const text = new Proxy(Buffer.alloc(20_000, 'A'), {
    get(bytes, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++
      return Reflect.get(bytes, key, bytes) as unknown
    }
  })
  const search = createByteSearch([Buffer.from(secrets[0]!)])
  for (let place = search.find(text); place; place = search.find(text, place.end));
  assert.ok(looks < 50 * 20_000, `${looks} bytes were looked at`)
})

test('a message that looks like a long secret everywhere stays JSON, and the secret in it is taken out', () => {
  const screen = createScreen({ mode: 'redact', secrets: () => secrets, onFound() {} })
  const cleaned = screen(Buffer.from(JSON.stringify({ a: 'A'.repeat(20_000), b: secrets[0], c: 'é' })))!
  const value = JSON.parse(cleaned.toString()) as Record<string, string>
  assert.equal(value.b, '***')
  assert.equal(value.c, 'é')
})

test('where only the beginning of a secret is found, no character and no escape is cut', () => {
  const long = [`${'\\'.repeat(2_000)}é${half}`]
  const screen = createScreen({ mode: 'redact', secrets: () => long, onFound() {} })
  for (const end of ['\\"', '\\n', '\\\\\\"', 'è', 'é']) {
    const cleaned = screen(Buffer.from(`{"a":"${'\\\\'.repeat(2_000)}${end}"}`))!
    assert.doesNotThrow(() => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(cleaned)), end)
  }
})
