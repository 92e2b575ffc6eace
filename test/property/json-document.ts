import fc from 'fast-check'

/** JSON text with the texts of its parts, as a parser must find them. */
export interface Document {
  readonly text: string
  /** Values of an array or of an object's members, in order, without surrounding white space. */
  readonly parts: readonly Document[]
  /** Decoded keys of an object, in order, repeated ones included. */
  readonly keys?: readonly string[]
  /** `"key" : value` of each member, verbatim. */
  readonly members?: readonly string[]
  readonly depth: number
}

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 })
const word = fc.constantFrom('null', 'true', 'false')
const digits = fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 25 })
const number = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(digits), fc.constantFrom('', 'e1', 'E+07', 'e-300'))
  .map(
    ([sign, whole, part, power]) => `${sign}${whole.replace(/^0+(?=\d)/, '')}${part === null ? '' : `.${part}`}${power}`
  )

const escapes: Readonly<Record<string, string>> = { '/': '\\/', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\t': '\\t' }

/** Returns one of the encodings of a character. */
function written(character: string, way: number): string {
  if (way === 1) return character.split('').map(unicode).join('')
  if (way === 2 && character in escapes) return escapes[character]!
  return JSON.stringify(character).slice(1, -1)
}

const unicode = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const character = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('a', 'n', '"', '\\', '{', '}', '[', ']', ',', ':', '/', '\n', '\0', 'é', '😀')
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) }
)

/** A string with its JSON text. */
export const jsonString = fc.array(fc.tuple(character, fc.nat(2)), { maxLength: 8 }).map((characters) => ({
  value: characters.map(([c]) => c).join(''),
  text: `"${characters.map(([c, way]) => written(c, way)).join('')}"`
}))

const leaf = fc
  .oneof(
    word,
    number,
    jsonString.map(({ text }) => text)
  )
  .map((text): Document => ({ text, parts: [], depth: 0 }))

const deepest = (parts: readonly Document[]) => 1 + Math.max(0, ...parts.map(({ depth }) => depth))

type SpacedDocument = readonly [before: string, document: Document, after: string]

function arrayOf(items: readonly SpacedDocument[], inner: string): Document {
  const parts = items.map(([, part]) => part)
  const text = items.map(([before, part, after]) => before + part.text + after).join(',')
  return { text: `[${items.length === 0 ? inner : text}]`, parts, depth: deepest(parts) }
}

type Key = { value: string; text: string }
type Entry = readonly [key: Key, colon: readonly [string, string], spaced: SpacedDocument]

function objectOf(entries: readonly Entry[], inner: string): Document {
  const parts = entries.map(([, , [, part]]) => part)
  const members = entries.map(([key, [before, after], [, part]]) => `${key.text}${before}:${after}${part.text}`)
  const text = entries.map(([, , [before, , after]], i) => before + members[i]! + after).join(',')
  const keys = entries.map(([{ value }]) => value)
  return { text: `{${entries.length === 0 ? inner : text}}`, parts, keys, members, depth: deepest(parts) }
}

const key: fc.Arbitrary<Key> = fc.oneof(
  jsonString,
  fc.constantFrom('name', 'id', '__proto__', 'constructor', '').map((value) => ({ value, text: JSON.stringify(value) }))
)

const spaced = (value: fc.Arbitrary<Document>): fc.Arbitrary<SpacedDocument> => fc.tuple(space, value, space)
const entry = (value: fc.Arbitrary<Document>): fc.Arbitrary<Entry> =>
  fc.tuple(key, fc.tuple(space, space), spaced(value))
const arrayWith = (value: fc.Arbitrary<Document>) =>
  fc.tuple(fc.array(spaced(value), { maxLength: 5 }), space).map(([items, inner]) => arrayOf(items, inner))
const objectWith = (value: fc.Arbitrary<Document>) =>
  fc.tuple(fc.array(entry(value), { maxLength: 5 }), space).map(([entries, inner]) => objectOf(entries, inner))

/** Any JSON, with white space in every allowed place and strings in every encoding. */
export const document: fc.Arbitrary<Document> = fc.letrec<{ value: Document; array: Document; object: Document }>(
  (tie) => ({
    value: fc.oneof({ maxDepth: 4, depthSize: 'small' }, leaf, tie('array'), tie('object')),
    array: arrayWith(tie('value')),
    object: objectWith(tie('value'))
  })
).value

export const arrayDocument = arrayWith(document)
export const objectDocument = objectWith(document)
