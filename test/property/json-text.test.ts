import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HAS_LONE_SURROGATES, textSteps } from '../../src/json/text.ts'
import { skipValueSteps } from '../../src/json/bytes.ts'
import { checkJson, JsonError } from '../../src/json/json.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { withoutLoneSurrogates } from '../../src/json/surrogates.ts'

const strict = { depth: 64, elements: Infinity, checksStrings: true }
const passes = (work: () => unknown): boolean => {
  try {
    work()
    return true
  } catch (error) {
    assert.ok(error instanceof JsonError)
    return false
  }
}

/** Yields numbers from a small seeded generator, so that a failure can be repeated. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed
  for (;;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    yield state >>> 8
  }
}

const pieces = [
  'a',
  'é',
  '😀',
  '\\n',
  '\\"',
  '\\\\',
  '\\u0041',
  '\\ud83d',
  '\\ude00',
  '\\q',
  '\\u12',
  '\\',
  '\n',
  '\t',
  '\u0001'
]

test('SR-C1 the quick look into strings agrees with the reader at every length and offset', () => {
  const random = numbers(Number(process.env.PROPERTY_SEED ?? 1))
  const next = (end: number) => random.next().value % end
  for (let run = 0; run < 20_000; run++) {
    const isPlain = next(2) === 0
    const length = next(90)
    const rare = Array.from({ length: isPlain ? 1 : next(4) }, () => next(length + 1))
    const text = Array.from({ length }, (_, i) => (rare.includes(i) ? pieces[next(pieces.length)]! : 'x')).join('')
    const json = `{"key":"${text}"}`
    const padding = next(8)
    const bytes = Buffer.concat([Buffer.alloc(padding), Buffer.from(json)]).subarray(padding)
    let found = 0
    const isText = passes(() => (found = complete(textSteps(bytes))))
    const spaced = { ...strict, checksStrings: 'spaces' } as const
    const isGood = isText && passes(() => checkJson(json, spaced))
    const asBytes = isText && passes(() => complete(skipValueSteps(Buffer.from(json), 0, spaced)))
    assert.equal(asBytes, isGood, JSON.stringify(json))
    assert.equal(
      isGood,
      passes(() => checkJson(json, strict)),
      JSON.stringify(json)
    )
    if (!isGood) continue
    const repaired = withoutLoneSurrogates(json)
    assert.equal((found & HAS_LONE_SURROGATES) !== 0, repaired !== json, json)
    assert.equal(bytes.toString(), repaired, json)
  }
})
