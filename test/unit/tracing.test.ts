import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTraceContext, readTraceHeaders, traceHeaders, traceMembers } from '../../src/protocol/trace-context.ts'

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

test('a context is taken where it is well-formed, with its state', () => {
  assert.deepEqual(parseTraceContext(traceparent, 'a=1,b=2'), { traceparent, tracestate: 'a=1,b=2' })
  assert.deepEqual(readTraceHeaders({ traceparent }), { traceparent, tracestate: undefined })
})

test('what is no context is none, and a state that is malformed is left out', () => {
  for (const wrong of [
    undefined,
    7,
    '',
    `${traceparent}-more`,
    traceparent.toUpperCase(),
    traceparent.replace(/^00/, 'ff'),
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
    `${traceparent}\r\nx: y`
  ]) {
    assert.equal(parseTraceContext(wrong, 'a=1'), undefined, String(wrong))
  }
  assert.equal(readTraceHeaders({ tracestate: 'a=1' }), undefined)
  for (const state of ['', 'a="1"', 'a=\\', 'a=\n', 'x'.repeat(513), 7, ['a=1']]) {
    assert.equal(parseTraceContext(traceparent, state)?.tracestate, undefined, String(state))
  }
})

test('it is told as headers and as members of an object', () => {
  const alone = { traceparent, tracestate: undefined }
  const whole = { traceparent, tracestate: 'a=1' }
  assert.deepEqual(traceHeaders(alone), ['traceparent', traceparent])
  assert.deepEqual(traceHeaders(whole), ['traceparent', traceparent, 'tracestate', 'a=1'])
  assert.deepEqual(JSON.parse(`{${traceMembers(alone)}}`), { traceparent })
  assert.deepEqual(JSON.parse(`{${traceMembers(whole)}}`), whole)
})
