import assert from 'node:assert/strict'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import { isHeaderName, isHeaderValue, isReservedHeader } from '../../src/domain/network/http-fields.ts'
import { decodeHeader } from '../../src/mcp/messages/era.ts'
import { mismatchedHeader, paramHeaderPairs, readParamHeaders, headerValue } from '../../src/protocol/param-headers.ts'
import { holds } from './property.ts'

const latin = fc.string({ unit: fc.nat(0x120).map((code) => String.fromCharCode(code)), maxLength: 12 })
const ascii = fc.string({ unit: fc.nat(0x7f).map((code) => String.fromCharCode(code)), maxLength: 12 })
const text = fc.oneof(fc.string({ unit: 'binary' }), ascii)
const sentinel = fc
  .tuple(fc.constantFrom('=?base64?', '=?BASE64?', '=?'), text, fc.constantFrom('?=', '=', ''))
  .map((parts) => parts.join(''))
const value = fc.oneof(text, sentinel)

/** RFC 9110 5.6.2, character by character. */
const isTokenCharacter = (c: string) => /[A-Za-z0-9]/.test(c) || "!#$%&'*+-.^_`|~".includes(c)

/** RFC 9110 5.5: visible characters and obs-text, with blanks and tabs between them. */
function isFieldValue(candidate: string): boolean {
  const isVisible = (c: string) => (c >= '!' && c <= '~') || (c >= '\x80' && c <= '\xff')
  // Node and the URL standard treat a no-break space as white space, so it is invalid at either end
  if (candidate !== candidate.trim()) return false
  return candidate.split('').every((c) => isVisible(c) || c === ' ' || c === '\t')
}

const accepts = (validate: () => void): boolean => {
  try {
    validate()
    return true
  } catch {
    return false
  }
}

holds('names and values of headers are those of RFC 9110, and Node sends all of them', [latin], (candidate) => {
  assert.equal(isHeaderName(candidate), candidate !== '' && candidate.split('').every(isTokenCharacter))
  assert.equal(isHeaderValue(candidate), isFieldValue(candidate))
  if (isHeaderName(candidate)) assert.ok(accepts(() => validateHeaderName(candidate)))
  if (isHeaderValue(candidate)) assert.ok(accepts(() => validateHeaderValue('x', candidate)))
})

const ours = fc.constantFrom(
  'Host',
  'content-length',
  'TE',
  'Mcp-Name',
  'mcp-session-id',
  'Transfer-Encoding',
  'Upgrade'
)

holds('a header of ours is reserved in every letter case', [ours, fc.infiniteStream(fc.boolean())], (name, upper) => {
  const spelt = name.replace(/./g, (c) => (upper.next().value ? c.toUpperCase() : c.toLowerCase()))
  assert.ok(isReservedHeader(spelt))
})

holds('every name can be carried by Mcp-Name and comes back the same', [value], (name) => {
  const carried = headerValue(name)
  assert.match(carried, /^(?:[!-~](?:[ -~\t]*[!-~])?)?$/)
  assert.equal(decodeHeader(carried.trim()), name)
})

const properties = {
  s: { type: 'string', 'x-mcp-header': 'S' },
  i: { type: 'integer', 'x-mcp-header': 'I' },
  in: { type: 'object', properties: { b: { type: 'boolean', 'x-mcp-header': 'B' } } }
}
const annotated = readParamHeaders(JSON.stringify({ name: 't', inputSchema: { type: 'object', properties } }))
const integer = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(-0, 1e21, -1e300))
const args = fc.record(
  { s: value, i: integer, in: fc.record({ b: fc.boolean() }, { requiredKeys: [] }) },
  { requiredKeys: [] }
)

const asHeaders = (pairs: readonly string[]) =>
  Object.fromEntries(pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1]!]] : [])))

holds('what we send of arguments in headers is what we would accept ourselves', [args], (given) => {
  const headers = asHeaders(paramHeaderPairs(annotated, given))
  assert.equal(mismatchedHeader(annotated, given, headers, decodeHeader), undefined)
})

holds('a header of other arguments is not accepted', [args, args], (given, others) => {
  const same = (name: 's' | 'i') => Object.is(given[name] ?? 0, others[name] ?? 0) || given[name] === others[name]
  fc.pre(!same('s') || !same('i') || given.in?.b !== others.in?.b)
  const headers = asHeaders(paramHeaderPairs(annotated, others))
  assert.notEqual(mismatchedHeader(annotated, given, headers, decodeHeader), undefined)
})
