import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  checkJson,
  checkUnique,
  elements,
  JsonError,
  members,
  skipValue,
  valueOf,
  withMembers
} from '../../src/json/json.ts'
import { withoutParamHeaders } from '../../src/protocol/param-headers.ts'
import { skipValueSteps } from '../../src/json/bytes.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { arrayDocument, document, objectDocument } from './json-document.ts'
import { holds } from './property.ts'
import { isJson, problemOf } from '../json-outcomes.ts'

const limits = { depth: 64, elements: 100_000 }

holds('JSON is taken, and each member and element is found exactly where it stands', [document], (made) => {
  assert.ok(isJson(made.text))
  assert.equal(
    problemOf(() => checkJson(made.text, limits)),
    undefined
  )
  assert.equal(skipValue(made.text, 0), made.text.length)
  if (made.keys) {
    const found = members(made.text)
    assert.deepEqual(
      found.map(({ key }) => key),
      made.keys
    )
    assert.deepEqual(
      found.map(({ start, end }) => made.text.slice(start, end)),
      made.parts.map(({ text }) => text)
    )
    assert.deepEqual(
      found.map(({ keyStart, end }) => made.text.slice(keyStart, end)),
      made.members
    )
  } else if (made.text.startsWith('[')) {
    const found = elements(made.text).map(({ start, end }) => made.text.slice(start, end))
    assert.deepEqual(
      found,
      made.parts.map(({ text }) => text)
    )
  }
})

holds('the readers of text and of bytes end at the same place', [document, fc.string()], (made, rest) => {
  const bytes = Buffer.from(`${made.text} ${rest}`)
  assert.equal(complete(skipValueSteps(bytes, 0, limits)), Buffer.byteLength(made.text))
  assert.equal(skipValue(bytes.toString('latin1'), 0, limits), Buffer.byteLength(made.text))
})

holds('a document passes a limit on its depth that it keeps, and no smaller one', [arrayDocument], (made) => {
  assert.equal(
    problemOf(() => checkJson(made.text, { ...limits, depth: made.depth })),
    undefined
  )
  assert.equal(
    problemOf(() => checkJson(made.text, { ...limits, depth: made.depth - 1 })),
    'depth'
  )
})

holds('a repeated key is refused where members decide, however it is written', [objectDocument], ({ text, keys }) => {
  const isRepeated = new Set(keys).size < keys!.length
  assert.equal(
    problemOf(() => checkUnique(members(text))),
    isRepeated ? 'duplicate' : undefined
  )
})

const mark = fc.constantFrom(
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  '-',
  '.',
  '0',
  'e',
  '+',
  ' ',
  'n',
  'u',
  '\n',
  '\u0001',
  '\u007f',
  ''
)
const damage = fc.tuple(fc.nat(), mark, fc.boolean())

holds(
  'of damaged JSON nothing is refused that JSON.parse takes, and nothing else is taken where strings are checked',
  [document, damage],
  (made, [at, put, isInsertion]) => {
    const place = at % (made.text.length + 1)
    const text = made.text.slice(0, place) + put + made.text.slice(isInsertion ? place : place + 1)
    const problem = problemOf(() => checkJson(text, limits))
    if (problem !== undefined) assert.ok(!isJson(text), text)
    const ends = [
      () => skipValue(text, 0, limits),
      () => complete(skipValueSteps(Buffer.from(text, 'latin1'), 0, limits))
    ].map((read) => {
      try {
        return read()
      } catch (error) {
        return (error as JsonError).problem
      }
    })
    if (/^[\0-\xff]*$/.test(text)) assert.equal(ends[0], ends[1], text)
    const checked = problemOf(() => checkJson(text, { ...limits, checksStrings: true }))
    assert.equal(checked === undefined, isJson(text), text)
  }
)

const choices = fc.array(fc.constantFrom('keep', 'replace', 'remove'), { minLength: 5, maxLength: 5 })

holds(
  'editing members leaves every other one byte for byte, and in its place',
  [objectDocument, choices],
  (made, what) => {
    const keys = made.keys!
    const choiceOf = (key: string) => what[keys.indexOf(key)]
    const changes = Object.create(null) as Record<string, string | null>
    for (const key of keys) {
      if (choiceOf(key) === 'replace') changes[key] = '[9]'
      if (choiceOf(key) === 'remove') changes[key] = null
    }
    const expected = keys.flatMap((key, i) => {
      if (choiceOf(key) === 'remove') return []
      const { text } = made.parts[i]!
      const member = made.members![i]!
      return [choiceOf(key) === 'replace' ? `${member.slice(0, member.length - text.length)}[9]` : member]
    })
    assert.equal(withMembers(made.text, changes), `{${expected.join(',')}}`)
    for (const key of new Set(keys)) {
      const last = made.parts[keys.lastIndexOf(key)]!
      assert.equal(valueOf(made.text, members(made.text), key), last.text)
    }
  }
)

holds('taking out header annotations leaves JSON, without them and with all else', [document], (made) => {
  const clean = withoutParamHeaders(made.text)
  assert.equal(clean, made.text)
  const annotated = `{"x-mcp-header":"A","kept":${made.text},"in":[{"x-mcp-header" : ${made.text}}]}`
  assert.equal(withoutParamHeaders(annotated), `{"kept":${made.text},"in":[{}]}`)
})
