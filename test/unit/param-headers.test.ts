import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeHeader } from '../../src/mcp/messages/era.ts'
import {
  mismatchedHeader,
  otherParamHeaders,
  paramHeaderPairs,
  readParamHeaders,
  withoutParamHeaders
} from '../../src/protocol/param-headers.ts'

const tool = (inputSchema: object) => readParamHeaders(JSON.stringify({ name: 't', inputSchema }))

const good = tool({
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    page: { type: 'object', properties: { size: { type: 'integer', 'x-mcp-header': 'Page-Size' } } },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' }
  }
})

test('annotations are found at any depth of properties', () => {
  assert.equal(good.problem, undefined)
  assert.deepEqual(good.headers, [
    { header: 'mcp-param-region', path: ['region'], type: 'string' },
    { header: 'mcp-param-page-size', path: ['page', 'size'], type: 'integer' },
    { header: 'mcp-param-dry', path: ['dry'], type: 'boolean' }
  ])
})

const broken: [string, object, RegExp][] = [
  ['an empty name', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }, /not a valid header name/],
  ['a name with a space', { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }, /not a valid header name/],
  ['a number', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }, /string, an integer or a boolean/],
  [
    'an array item',
    { properties: { a: { items: { type: 'string', 'x-mcp-header': 'A' } } } },
    /through properties alone/
  ],
  ['a branch', { anyOf: [{ properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }] }, /through properties alone/],
  [
    'two names that differ in case only',
    { properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } } },
    /same name/
  ]
]
for (const [what, schema, problem] of broken) {
  test(`an annotation is a problem of its tool: ${what}`, () => {
    const { headers, problem: found } = tool(schema)
    assert.match(found ?? '', problem)
    assert.deepEqual(headers, [])
  })
}

test('what stands in default, const, enum and examples is data', () => {
  const schema = { properties: { a: { default: { 'x-mcp-header': 5 }, enum: [{ 'x-mcp-header': 5 }] } } }
  assert.deepEqual(tool(schema), { headers: [], problem: undefined })
})

test('values go upstream as they are, or as base64 where a header cannot carry them', () => {
  const args = { region: 'Zürich', page: { size: 20 }, dry: false, other: 1 }
  assert.deepEqual(paramHeaderPairs(good, args), [
    'mcp-param-region',
    `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
    'mcp-param-page-size',
    '20',
    'mcp-param-dry',
    'false'
  ])
})

test('arguments that are missing, null or of another type have no header', () => {
  assert.deepEqual(paramHeaderPairs(good, { region: null, page: { size: 1.5 }, dry: 'yes' }), [])
  assert.deepEqual(paramHeaderPairs(good, undefined), [])
})

const check = (args: unknown, headers: Record<string, string>) => mismatchedHeader(good, args, headers, decodeHeader)

test('a header must repeat its argument, decoded, integers as numbers', () => {
  assert.equal(
    check({ region: 'a', page: { size: 7 } }, { 'mcp-param-region': ' a ', 'mcp-param-page-size': '07' }),
    undefined
  )
  const encoded = `=?base64?${Buffer.from('Zürich').toString('base64')}?=`
  assert.equal(check({ region: 'Zürich' }, { 'mcp-param-region': encoded }), undefined)
})

test('a value that only begins like base64 stands for itself', () => {
  assert.equal(check({ region: '=?base64?SGVsbG8=' }, { 'mcp-param-region': '=?base64?SGVsbG8=' }), undefined)
})

test('a missing, wrong, surplus or malformed header is named with what the body says', () => {
  assert.deepEqual(check({ region: 'a' }, {}), { header: 'mcp-param-region', given: '(missing)', body: '"a"' })
  assert.deepEqual(check({ region: 'a' }, { 'mcp-param-region': 'b' }), {
    header: 'mcp-param-region',
    given: 'b',
    body: '"a"'
  })
  assert.equal(check({}, { 'mcp-param-region': 'a' })?.body, '(missing)')
  assert.equal(check({ region: null }, { 'mcp-param-region': 'a' })?.given, 'a')
  assert.equal(check({ region: 'a' }, { 'mcp-param-region': '=?base64?%%?=' })?.header, 'mcp-param-region')
})

test('parameters that no annotation names pass as they came', () => {
  const headers = { 'mcp-param-region': 'a', 'mcp-param-trace': 'x', 'mcp-name': 't', accept: '*/*' }
  assert.deepEqual(otherParamHeaders(good, headers), ['mcp-param-trace', 'x'])
  assert.deepEqual(otherParamHeaders(good, { 'mcp-param-page_size': '9', 'mcp-param-a_b': 'x' }), [
    'mcp-param-a_b',
    'x'
  ])
})

test('annotations are taken out at any depth, everything else stays byte for byte', () => {
  const text =
    '{"a":1.0,"properties":{"r":{"x-mcp-header":"R","type": "string"}},"anyOf":[{"x-mcp-header":1},12345678901234567890]}'
  const clean = '{"a":1.0,"properties":{"r":{"type": "string"}},"anyOf":[{},12345678901234567890]}'
  assert.equal(withoutParamHeaders(text), clean)
})
