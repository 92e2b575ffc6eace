import assert from 'node:assert/strict'
import { test } from 'node:test'
import { characterSteps, textSteps } from '../../src/json/text.ts'
import { complete } from '../../src/lib/time-slice.ts'

const check = (bytes: Buffer) => complete(textSteps(bytes))
const checkEachCharacter = (bytes: Buffer) => complete(characterSteps(bytes))

test('short text is checked at every place in its memory, to the last byte of it', () => {
  for (let before = 0; before < 9; before++) {
    for (let after = 0; after < 3; after++) {
      for (let length = 0; length < 20; length++) {
        const memory = Buffer.from(new ArrayBuffer(before + length + after)).fill('7')
        const text = memory.subarray(before, before + length)
        assert.deepEqual([check(text), checkEachCharacter(text)], [0, 0], `${length} bytes at ${before}`)
      }
    }
  }
})

test('a control character is found at every place', () => {
  for (let before = 0; before < 5; before++) {
    for (let length = 1; length < 80; length++) {
      for (let at = 0; at < length; at++) {
        const text = Buffer.from(new ArrayBuffer(before + length))
          .fill('7')
          .subarray(before)
        text[at] = 1
        const where = new RegExp(`position ${at}$`)
        assert.throws(() => check(text), where, `byte ${at} of ${length} at ${before}`)
        assert.throws(
          () => checkEachCharacter(text),
          where,
          `byte ${at} of ${length} at ${before}, character by character`
        )
      }
    }
  }
})

test('SR-H3 the check of megabytes of escapes yields after a few thousand of them', () => {
  for (const escape of ['\\ud800', '\\udc00', '\\ud83d\\ude00\\udc00']) {
    const bytes = Buffer.from(`"${escape.repeat(100_000)}"`)
    const checking = textSteps(bytes)
    let yields = 0
    while (!checking.next().done) yields++
    assert.ok(yields >= 10, `${yields} for ${escape}`)
    assert.equal(bytes.toString(), `"${escape.replace(/\\ud800|\\udc00/, '\\ufffd').repeat(100_000)}"`)
  }
})

test('SR-H3 a text of megabytes is checked for control characters in steps', () => {
  const text = Buffer.alloc(8_000_000, 'a')
  let steps = 0
  for (const check = characterSteps(text); !check.next().done;) steps++
  assert.ok(steps >= 12 && steps <= 16, String(steps))
  text[7_900_000] = 1
  assert.throws(() => checkEachCharacter(text), /7900000/)
})
