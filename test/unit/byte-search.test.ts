import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuMs } from '../cpu.ts'
import { createByteSearch } from '../../src/lib/byte-search.ts'
import { createScreen } from '../../src/upstream/transport/result-secrets.ts'

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

test('SR-M10 a row of backslashes with a secret at each of them is screened in proportion to its length', async () => {
  const screen = createScreen({ mode: 'redact', secrets: () => ['\\'.repeat(16)], onFound() {} })
  const cost = (pairs: number) => {
    const message = Buffer.from(`{"x":"${'\\\\'.repeat(pairs)}"}`)
    return cpuMs(() => assert.ok(screen(message)!.includes('***'), 'the secret is masked'))
  }
  await cost(20_000)
  // with a quadratic search, sixteen times the length took two hundred times as long
  const [short, long] = [await cost(50_000), await cost(800_000)]
  assert.ok(long < 80 * Math.max(short, 5), `${short} ms, then ${long} ms for sixteen times the length`)
})
