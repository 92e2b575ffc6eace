import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../src/domain/mcp-constants.ts'
import { test } from 'node:test'
import { classifyInboundRequest } from '@modelcontextprotocol/server'
import { accepts, checkLegacyVersion, checkModernHeaders, classify, decodeHeader } from '../../src/mcp/messages/era.ts'
import { ProtocolError, readMessage } from '../../src/protocol/jsonrpc.ts'

const limits = { depth: 64, elements: 1_000 }
const META = 'io.modelcontextprotocol/'
const envelope = (version: unknown = MODERN_VERSION, capabilities: unknown = {}) => ({
  _meta: { [`${META}protocolVersion`]: version, [`${META}clientCapabilities`]: capabilities }
})
const message = (body: object) => readMessage(JSON.stringify({ jsonrpc: '2.0', ...body }), limits)
const call = (params: object) => ({ id: 7, method: 'tools/call', params })

interface Row {
  readonly about: string
  readonly body: object
  readonly version?: string
  readonly mcpMethod?: string
}

/** Every row of mcp-proxy.md#request-classification with a single message as its body, and cases in between. */
const rows: readonly Row[] = [
  { about: 'a result', body: { id: 1, result: {} } },
  { about: 'a result under a modern header', body: { id: 1, result: {} }, version: MODERN_VERSION },
  { about: 'an error', body: { id: 1, error: { code: 1, message: 'x' } } },
  { about: 'initialize', body: { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } } },
  {
    about: 'initialize of a modern revision',
    body: { id: 1, method: 'initialize', params: { protocolVersion: MODERN_VERSION } }
  },
  {
    about: 'initialize under a legacy header',
    body: { id: 1, method: 'initialize', params: {} },
    version: '2025-06-18'
  },
  {
    about: 'initialize under a modern header',
    body: { id: 1, method: 'initialize', params: {} },
    version: MODERN_VERSION
  },
  {
    about: 'initialize under a future header',
    body: { id: 1, method: 'initialize', params: {} },
    version: '2027-01-01'
  },
  { about: 'initialize with a malformed claim', body: { id: 1, method: 'initialize', params: envelope(5) } },
  { about: 'initialize with a legacy claim', body: { id: 1, method: 'initialize', params: envelope('2025-11-25') } },
  {
    about: 'initialize with a malformed claim under a modern header',
    body: { id: 1, method: 'initialize', params: envelope(MODERN_VERSION, 5) },
    version: MODERN_VERSION
  },
  {
    about: 'initialize with a modern claim',
    body: { id: 1, method: 'initialize', params: envelope() },
    version: MODERN_VERSION
  },
  { about: 'a modern request', body: call(envelope()), version: MODERN_VERSION, mcpMethod: 'tools/call' },
  { about: 'a modern request without headers', body: call(envelope()) },
  { about: 'a modern request under a legacy header', body: call(envelope()), version: '2025-11-25' },
  { about: 'a claim that is no string', body: call(envelope(5)), version: MODERN_VERSION },
  { about: 'a claim that is null', body: call(envelope(null)) },
  { about: 'a claim without capabilities', body: call({ _meta: { [`${META}protocolVersion`]: MODERN_VERSION } }) },
  { about: 'capabilities that are a list', body: call(envelope(MODERN_VERSION, [])) },
  { about: 'no claim under a modern header', body: call({}), version: MODERN_VERSION },
  { about: 'an empty _meta under a modern header', body: call({ _meta: {} }), version: MODERN_VERSION },
  {
    about: 'half an envelope under a modern header',
    body: call({ _meta: { [`${META}clientCapabilities`]: {} } }),
    version: MODERN_VERSION
  },
  { about: 'no params under a modern header', body: { id: 7, method: 'ping' }, version: MODERN_VERSION },
  { about: 'no claim under a future header', body: call({}), version: '2027-01-01' },
  { about: 'a malformed claim under another header', body: call(envelope(5)), version: '2025-11-25' },
  { about: 'no claim under a legacy header', body: call({}), version: '2025-06-18' },
  { about: 'no claim without a header', body: call({}) },
  { about: 'no params', body: { id: 7, method: 'ping' } },
  { about: 'a method of no era', body: { id: 7, method: 'constructor' } },
  { about: 'a notification', body: { method: 'notifications/initialized' } },
  {
    about: 'a notification under a legacy header',
    body: { method: 'notifications/initialized' },
    version: '2025-11-25'
  },
  { about: 'a notification under a modern header', body: { method: 'notifications/x' }, version: MODERN_VERSION },
  { about: 'a notification with a claim', body: { method: 'notifications/x', params: envelope() } }
]

/** Rows for which our result deliberately differs. */
const different: Record<string, { readonly row: Row; readonly oracle: string; readonly ours: string }> = {
  'a modern route with a revision that we lack is refused here; the SDK does so one step later': {
    row: { about: '', body: call(envelope('2027-01-01')), version: '2027-01-01' },
    oracle: 'modern',
    ours: '400 -32022'
  },
  'the same with a claim of a legacy revision': {
    row: { about: '', body: call(envelope('2025-11-25')), version: '2025-11-25' },
    oracle: 'modern',
    ours: '400 -32022'
  },
  'a header that is no date names no revision of either era': {
    row: { about: '', body: call({}), version: 'latest' },
    oracle: '400 -32602',
    ours: 'legacy'
  },
  'the header Mcp-Method is checked after classification, with the others': {
    row: { about: '', body: call(envelope()), version: MODERN_VERSION, mcpMethod: 'tools/list' },
    oracle: '400 -32020',
    ours: 'modern'
  },
  'a notification is dropped either way, so what is wrong with it is not looked for': {
    row: { about: '', body: { method: 'notifications/x', params: envelope(5) } },
    oracle: '400 -32602',
    ours: 'modern'
  },
  'a notification whose header differs from its claim is dropped as well': {
    row: { about: '', body: { method: 'notifications/x', params: envelope() }, version: '2025-11-25' },
    oracle: '400 -32020',
    ours: 'modern'
  }
}

const oracle = ({ body, version, mcpMethod }: Row): { outcome: string; data?: unknown } => {
  const outcome = classifyInboundRequest({
    httpMethod: 'POST',
    ...(version === undefined ? {} : { protocolVersionHeader: version }),
    ...(mcpMethod === undefined ? {} : { mcpMethodHeader: mcpMethod }),
    body: { jsonrpc: '2.0', ...body }
  })
  if (outcome.kind !== 'reject') return { outcome: outcome.kind }
  return { outcome: `${outcome.httpStatus} ${outcome.code}`, data: outcome.data }
}
const headersOf = ({ version, mcpMethod }: Row): IncomingHttpHeaders => ({
  ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
  ...(mcpMethod === undefined ? {} : { 'mcp-method': mcpMethod })
})
const ours = (row: Row): { outcome: string; data?: unknown } => {
  try {
    return { outcome: classify(headersOf(row), message(row.body)) }
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error))
    return { outcome: `${error.status} ${error.code}`, data: error.data }
  }
}

test('requests are classified as the SDK classifies them', () => {
  for (const row of rows) {
    const expected = oracle(row)
    const given = ours(row)
    assert.equal(given.outcome, expected.outcome, row.about)
    const { missing } = (expected.data as { envelope?: { missing?: string[] } } | undefined)?.envelope ?? {}
    if (missing) assert.deepEqual(given.data, { envelope: { missing } }, row.about)
    const { key } = (expected.data as { envelope?: { key?: string } } | undefined)?.envelope ?? {}
    if (key) assert.equal((given.data as { envelope: { key: string } }).envelope.key, key, row.about)
  }
})

for (const [reason, { row, oracle: expected, ours: given }] of Object.entries(different)) {
  test(`not as the SDK: ${reason}`, () => {
    assert.equal(oracle(row).outcome, expected)
    assert.equal(ours(row).outcome, given)
  })
}

const fails = (work: () => void, code: number, data?: unknown) =>
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof ProtocolError)
    assert.deepEqual([error.code, error.status, error.id], [code, 400, '7'])
    if (data !== undefined) assert.deepEqual(error.data, data)
    return true
  })

test('a revision that we lack is refused with the one that we have, before its headers are looked at', () => {
  const data = { supported: [MODERN_VERSION], requested: '2027-01-01' }
  fails(() => classify({}, message(call(envelope('2027-01-01')))), -32022, data)
  fails(() => classify({ 'mcp-protocol-version': '2027-01-01' }, message(call(envelope('2027-01-01')))), -32022, data)
})

const modern = (method: string, params: object) => message({ id: 7, method, params: { ...params, ...envelope() } })
const standard = (method: string, name?: string): IncomingHttpHeaders => ({
  'mcp-protocol-version': MODERN_VERSION,
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name })
})
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

test('the standard headers of a modern request repeat its body', () => {
  const rightful: [string, object, string?][] = [
    ['tools/list', {}],
    ['tools/call', { name: 'a__b' }, 'a__b'],
    ['tools/call', { name: 'a__b' }, '  a__b\t'],
    ['prompts/get', { name: 'a__ü' }, base64('a__ü')],
    ['resources/read', { uri: 'x://a b' }, base64('x://a b')],
    ['tools/call', { name: '=?base64?x?=' }, base64('=?base64?x?=')],
    ['tools/list', { name: 'ignored' }],
    ['constructor', {}],
    ['toString', { name: 'x' }]
  ]
  for (const [method, params, name] of rightful) {
    checkModernHeaders(standard(method, name), modern(method, params))
  }
})

test('a standard header that is missing or differs is refused, and the answer shows both sides', () => {
  const request = modern('tools/call', { name: 'a__b' })
  const refused = (headers: IncomingHttpHeaders, header: string, body: string) =>
    fails(() => checkModernHeaders(headers, request), -32020, { mismatch: { header, body } })
  refused({ 'mcp-method': 'tools/call', 'mcp-name': 'a__b' }, '(missing)', MODERN_VERSION)
  refused({ ...standard('tools/call', 'a__b'), 'mcp-protocol-version': '2025-11-25' }, '2025-11-25', MODERN_VERSION)
  refused({ 'mcp-protocol-version': MODERN_VERSION, 'mcp-name': 'a__b' }, '(missing)', 'tools/call')
  refused(standard('tools/Call', 'a__b'), 'tools/Call', 'tools/call')
  refused(standard('tools/call'), '(missing)', 'a__b')
  for (const wrong of ['b', 'a__B', '', '=?base64?!!?=', '=?base64?YV9fYg?=', '=?base64?YV9fYg==', base64('a__c')]) {
    refused(standard('tools/call', wrong), wrong, 'a__b')
  }
})

test('of two headers of one name, which node joins, neither counts', () => {
  const request = modern('tools/call', { name: 'a__b' })
  fails(() => checkModernHeaders(standard('tools/call', 'a__b, a__b'), request), -32020)
})

test('base64 is read only in its sentinel, complete and canonical', () => {
  assert.equal(decodeHeader('plain'), 'plain')
  assert.equal(decodeHeader(base64('ü')), 'ü')
  assert.equal(decodeHeader('=?base64??='), '')
  assert.equal(decodeHeader('=?BASE64?YQ==?='), '=?BASE64?YQ==?=')
  assert.equal(decodeHeader('=?base64?YQ=='), '=?base64?YQ==')
  assert.equal(decodeHeader('=?base64?='), '=?base64?=')
  for (const bad of ['=?base64?YQ=?=', '=?base64?YQ?=', '=?base64?Y Q==?=', '=?base64?YR==?=']) {
    assert.equal(decodeHeader(bad), undefined, bad)
  }
})

test('a legacy request may name any legacy revision or none; another is refused with the list of them', () => {
  for (const version of LEGACY_VERSIONS) checkLegacyVersion({ 'mcp-protocol-version': version }, '7')
  checkLegacyVersion({}, '7')
  for (const version of ['1999-01-01', '', 'x']) {
    assert.throws(
      () => checkLegacyVersion({ 'mcp-protocol-version': version }, '7'),
      (error: unknown) =>
        error instanceof ProtocolError &&
        error.code === -32000 &&
        error.status === 400 &&
        LEGACY_VERSIONS.every((known) => error.message.includes(known)),
      version
    )
  }
})

test('what a client accepts is read from its header; none means everything', () => {
  assert.equal(accepts({}, 'text/event-stream'), true)
  assert.equal(accepts({ accept: '*/*' }, 'text/event-stream'), true)
  assert.equal(accepts({ accept: 'application/json, text/event-stream;q=0.5' }, 'text/event-stream'), true)
  assert.equal(accepts({ accept: 'Application/JSON' }, 'application/json'), true)
  assert.equal(accepts({ accept: 'application/json' }, 'text/event-stream'), false)
})
