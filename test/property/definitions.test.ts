import { definitionKinds, type DefinitionKind } from '../../src/domain/definitions/kinds.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countedOf, fingerprintOf, instructionsDefinition } from '../../src/domain/definitions/canonical.ts'
import { holds } from './property.ts'

const samples: Readonly<Record<DefinitionKind, Record<string, unknown>>> = {
  tool: {
    name: 'add',
    title: 'Add',
    description: 'Adds',
    inputSchema: { type: 'object', properties: { a: { type: 'number', minimum: 10 } } },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    _meta: { ui: { resourceUri: 'ui://a' }, 'ui/resourceUri': 'ui://a', 'openai/outputTemplate': 'ui://a', other: 1 }
  },
  prompt: { name: 'ask', title: 'Ask', description: 'Asks', arguments: [{ name: 'a' }] },
  resource: { uri: 'a://b', name: 'b', title: 'B', description: 'A b', mimeType: 'text/plain' },
  template: { uriTemplate: 'a://{b}', name: 'b', title: 'B', description: 'A b', mimeType: 'text/plain' },
  skill: {
    uri: 'skill://a/SKILL.md',
    frontmatter: { name: 'a', description: 'b' },
    resources: [{ uri: 'skill://a/SKILL.md', digest: `sha256:${'0'.repeat(64)}`, size: 1 }]
  },
  instructions: { instructions: 'Be brief.' }
}
const kind = fc.constantFrom(...definitionKinds)
const uncounted = ['icons', 'execution', 'size', 'unknown']
const fingerprint = (of: DefinitionKind, value: unknown) => fingerprintOf(of, JSON.stringify(value))

/** Writes JSON with the members in another order, white space and escapes. */
function respell(value: unknown, random: () => number): string {
  const gap = () => ['', ' ', '\n', '\t '][random() % 4]!
  if (Array.isArray(value)) return `[${gap()}${value.map((each) => respell(each, random)).join(`${gap()},${gap()}`)}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(() => (random() % 2) - 0.5)
    return `{${entries.map(([key, each]) => `${gap()}${respell(key, random)}${gap()}:${gap()}${respell(each, random)}`).join(',')}${gap()}}`
  }
  if (typeof value === 'string' && random() % 2 === 0) {
    return `"${[...Array(value.length).keys()].map((i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
  }
  if (typeof value === 'number' && random() % 2 === 0) return value.toExponential()
  return JSON.stringify(value)
}

const json = fc.jsonValue({ maxDepth: 4 })

holds(
  'spelling, order of members and white space do not change a fingerprint',
  [kind, json, fc.infiniteStream(fc.nat())],
  (of, value, stream) => {
    const random = () => stream.next().value as number
    const definition = {
      ...samples[of],
      description: value,
      frontmatter: value,
      instructions: value,
      [uncounted[random() % 4]!]: 1
    }
    assert.equal(fingerprintOf(of, respell(definition, random)), fingerprint(of, definition))
  }
)

holds(
  'members that do not count do not change a fingerprint',
  [kind, fc.constantFrom(...uncounted), json],
  (of, member, value) => {
    const sample = samples[of]
    const meta = { ...(sample._meta as object), vendor: value }
    assert.equal(fingerprint(of, { ...sample, [member]: value, _meta: meta }), fingerprint(of, sample))
  }
)

holds('each counted member changes the fingerprint', [kind, fc.nat(), json], (of, index, value) => {
  const sample = samples[of]
  const members = [...countedOf(of, JSON.stringify(sample)).keys()]
  const member = members[index % members.length]!
  const changed = member.startsWith('_meta.')
    ? { ...sample, _meta: { ...(sample._meta as object), [member.slice(6)]: value } }
    : { ...sample, [member]: value }
  const [before, after] = [sample, changed].map((each) => countedOf(of, JSON.stringify(each)).get(member))
  assert.equal(fingerprint(of, changed) === fingerprint(of, sample), before === after)
})

holds('texts that parse to different values have different fingerprints', [json, json], (a, b) => {
  const [one, other] = [a, b].map((value) => ({ name: 'a', inputSchema: { x: value } }))
  const isSame = fingerprint('tool', one) === fingerprint('tool', other)
  const normal = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('-0', '0')) as unknown
  if (isSame) assert.deepEqual(normal(a), normal(b))
})

test('numbers are compared by value, without losing digits', () => {
  const of = (number: string) => fingerprintOf('tool', `{"name":"a","inputSchema":{"maximum":${number}}}`)
  assert.equal(new Set(['10', '1e1', '10.0', '1.0E+1', '100e-1', '0.1e2'].map(of)).size, 1)
  assert.equal(new Set(['0', '-0', '0.0', '0e7'].map(of)).size, 1)
  const different = ['12345678901234567890', '12345678901234567891', '1e400', '1e401', '0.1', '-0.1', '1e-7']
  assert.equal(new Set(different.map(of)).size, different.length)
})

test('absent and null members are equal; absent and empty instructions are not', () => {
  assert.equal(fingerprint('tool', { name: 'a', title: null }), fingerprint('tool', { name: 'a' }))
  assert.notEqual(
    fingerprintOf('instructions', instructionsDefinition(null)),
    fingerprintOf('instructions', instructionsDefinition(''))
  )
})

test('hostile texts have a fingerprint in bounded time', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const zeros = `{"name":"a","inputSchema":{"x":${'0'.repeat(500_000)}1${'0'.repeat(500_000)}}}`
  const escapes = `{"name":"a","description":"${'\\n'.repeat(500_000)}"}`
  for (const text of [deep, zeros, escapes, '', '"', '[', '{"a"', '{"name":"\\']) {
    assert.match(fingerprintOf('tool', text), /^[0-9a-f]{64}$/)
  }
})
