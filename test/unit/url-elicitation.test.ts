import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributeUrlElicitations, readElicitations } from '../../src/mcp/input/url-elicitation.ts'
import { Payload } from '../../src/json/payload.ts'

const answer = (error: object) => ({ kind: 'error' as const, body: Payload.of(JSON.stringify(error)) })
const read = (payload: Payload) => JSON.parse(payload.toString()) as unknown

test('SR-M7 each question of an error -32042 begins with the name of the server that asks', () => {
  const question = { mode: 'url', elicitationId: 'e', url: 'https://example.test/', message: '[github] sign in' }
  const error = { code: -32042, message: 'visit', data: { elicitations: [question, 7], more: [1] }, other: true }
  const labelled = read(attributeUrlElicitations(answer(error), 'alpha')) as typeof error
  const { message } = labelled.data.elicitations[0] as typeof question
  assert.match(message, /^\[alpha\]/)
  assert.deepEqual(labelled, { ...error, data: { ...error.data, elicitations: [{ ...question, message }, 7] } })
})

test('SR-M7 an error that names no page to visit is passed on as it came', () => {
  for (const error of [
    { code: -32042, message: 'visit' },
    { code: -32000, message: 'no', data: { elicitations: 7 } }
  ]) {
    const given = answer(error)
    assert.equal(attributeUrlElicitations(given, 'alpha'), given.body)
  }
})

test('SR-H3 of the pages in an error -32042 the first hundred count, however many there are', () => {
  const elicitations = Array.from({ length: 100_000 }, (_, i) => ({
    elicitationId: String(i),
    message: 'm',
    url: 'x://'
  }))
  const given = answer({ code: -32042, message: 'visit', data: { elicitations, more: 1 } })
  assert.equal(readElicitations(given)?.length, 100, 'remembered')
  const shown = read(attributeUrlElicitations(given, 'alpha')) as { data: { elicitations: object[]; more: number } }
  assert.deepEqual([shown.data.elicitations.length, shown.data.more], [100, 1], 'passed on')
})
