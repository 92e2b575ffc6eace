import assert from 'node:assert/strict'
import test from 'node:test'
import { hasHidden, markHidden } from '../../src/domain/text/hidden-characters.ts'

const shown = (text: string) => markHidden(text).map((each) => ('mark' in each ? `[${each.mark}]` : each.text))

test('text without hidden characters is one segment, and no text none', () => {
  for (const text of ['plain', 'tab\tand\r\nlines', 'Füße, 日本語, עברית, हिन्दी', '🙂👍🏽 ❤️ 1️⃣ 👩🏽‍💻 👨‍👩‍👧']) {
    assert.deepEqual(markHidden(text), [{ text }])
    assert.equal(hasHidden(text), false)
  }
  assert.deepEqual(markHidden(''), [])
})

test('bidi controls, zero width, tags, controls, separators and fillers are marks where they stand', () => {
  const cases: [string, string][] = [
    ['\u202e', 'U+202E'],
    ['\u2066', 'U+2066'],
    ['\u200b', 'U+200B'],
    ['\u200d', 'U+200D'],
    ['\u2060', 'U+2060'],
    ['\ufeff', 'U+FEFF'],
    ['\u00ad', 'U+00AD'],
    ['\u061c', 'U+061C'],
    ['\u3164', 'U+3164'],
    ['\u034f', 'U+034F'],
    ['\u2028', 'U+2028'],
    ['\u0000', 'U+0000'],
    ['\u001b', 'U+001B'],
    ['\u007f', 'U+007F'],
    ['\u009b', 'U+009B'],
    ['\u{e0001}', 'U+E0001'],
    ['\u{e0041}', 'U+E0041'],
    ['\u{e007f}', 'U+E007F'],
    ['\u{e0100}', 'U+E0100'],
    ['\ufe00', 'U+FE00'],
    ['\ufe0f', 'U+FE0F'],
    ['\ud800', 'U+D800']
  ]
  for (const [character, mark] of cases) {
    assert.deepEqual(markHidden(`a ${character}b`), [{ text: 'a ' }, { mark }, { text: 'b' }], mark)
    assert.equal(hasHidden(character), true)
  }
})

test('hidden characters side by side are marks of their own, and nothing is left out', () => {
  assert.deepEqual(shown('\u200b\u202ex\u200b'), ['[U+200B]', '[U+202E]', 'x', '[U+200B]'])
  assert.deepEqual(shown('🙂\u200dx'), ['🙂', '[U+200D]', 'x'])
})

test('a long text of hidden characters takes no time', () => {
  assert.equal(markHidden('\u200d'.repeat(200_000)).length, 200_000)
})
