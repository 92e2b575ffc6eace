import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/gateway/payload.ts'
import { labelled, labelledResult } from '../../src/gateway/downstream/label.ts'

test('an elicitation carries its server before the message, every other member as it came', () => {
  const form = '{"message":"W\\u0068o \\"ü\\"?", "requestedSchema":{"n": 1.0}}'
  assert.equal(labelled('elicitation/create', form, 'a'), '{"message":"[a] Who \\"ü\\"?","requestedSchema":{"n": 1.0}}')
  for (const params of ['{}', '{"message":7}']) assert.equal(labelled('elicitation/create', params, 'a'), params)
  assert.equal(labelled('sampling/createMessage', form, 'a'), form)
})

test('a second message in the same question cannot hide the label', () => {
  const twice = labelled('elicitation/create', '{"message":"x","message":"y"}', 'a')
  assert.match((JSON.parse(twice) as { message: string }).message, /^\[a\] /)
})

test('each question of a modern result is labelled, the state byte for byte as it was', () => {
  const request = (method: string, text: string) => `{"method":"${method}","params":{"message":"${text}"}}`
  const result = (who: string) =>
    `{"resultType":"input_required","inputRequests":{"q":${request('elicitation/create', `${who}Wer? ü`)},` +
    `"s":${request('sampling/createMessage', 'x')},"r":{"method":"roots/list"}},"requestState":"a\\u0062\\/"}`
  assert.equal(labelledResult(Payload.of(result('')), 'a').toString(), result('[a] '))
})

test('what asks for nothing passes as it is', () => {
  for (const text of [
    '{"content":[]}',
    '{"resultType":"complete","content":[{"type":"text","text":"\\"input_required\\""}]}',
    '{"resultType":"complete","structuredContent":{"resultType":"input_required","inputRequests":{}}}',
    '{"resultType":"input_required","requestState":"x"}',
    '{"resultType":"input_required","inputRequests":{}}',
    '{"resultType":"input_required","inputRequests":{"a":7,"b":{},"c":{"method":"elicitation/create"}}}'
  ]) {
    assert.equal(labelledResult(Payload.of(text), 'a').toString(), text)
  }
})
