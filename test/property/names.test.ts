import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isName, isServerName, splitName } from '../../src/domain/names.ts'
import { holds } from './property.ts'

const any = fc.string({ unit: 'binary' })
/** Mostly the significant characters: underscores, letters, and a few that names cannot contain. */
const likely = fc.string({ unit: fc.constantFrom('_', '_', 'a', 'B', '7', '-', '.', '/', 'ü'), maxLength: 8 })
const long = fc.integer({ min: 62, max: 67 }).map((length) => 'a'.repeat(length))
const text = fc.oneof(any, likely, long)
const serverName = fc.oneof(likely, long).filter(isServerName)

const isWordCharacter = (c: string) => (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')

/** The documented rule for names, implemented naively. */
function mayBeName(candidate: string): boolean {
  const characters = candidate.split('')
  if (characters.length < 1 || characters.length > 64) return false
  return isWordCharacter(characters[0]!) && characters.every((c) => isWordCharacter(c) || c === '_' || c === '-')
}

holds('names are what the rule says, and can stand in a path as they are', [text], (candidate) => {
  assert.equal(isName(candidate), mayBeName(candidate))
  assert.equal(
    isServerName(candidate),
    mayBeName(candidate) && !candidate.includes('__') && candidate[candidate.length - 1] !== '_'
  )
  if (isName(candidate)) assert.equal(encodeURIComponent(candidate), candidate)
})

holds(
  'what a server calls a tool comes back from its qualified name, whatever it is',
  [serverName, text],
  (server, name) => {
    assert.deepEqual(splitName(`${server}__${name}`), { server, name })
  }
)

holds('two servers never share a qualified name', [serverName, serverName, text, text], (one, two, a, b) => {
  fc.pre(one !== two || a !== b)
  assert.notEqual(`${one}__${a}`, `${two}__${b}`)
})

holds('a text that splits is its parts with the first "__" between', [text], (qualified) => {
  const split = splitName(qualified)
  if (!split) return assert.ok(qualified.indexOf('__') <= 0)
  assert.equal(`${split.server}__${split.name}`, qualified)
  assert.ok(!split.server.includes('__'))
})
