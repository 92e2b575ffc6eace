import assert from 'node:assert/strict'
import test from 'node:test'
import { createBreaker, type Breaker } from '../../src/upstream/sessions/breaker.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'

function open() {
  let at = 0
  const breaker = createBreaker(undefined, () => at)
  const timeOut = (times: number) => {
    for (let i = 0; i < times; i++) breaker.recordTimeout()
  }
  return { breaker, timeOut, pass: (ms: number) => (at += ms) }
}

function refusalOf(breaker: Breaker): UpstreamFailure | undefined {
  try {
    breaker.assertClosed()
    return undefined
  } catch (error) {
    assert.ok(error instanceof UpstreamFailure)
    return error
  }
}

test('it opens at the fifth time-out in a row, and says when to come back', () => {
  const { breaker, timeOut, pass } = open()
  timeOut(4)
  assert.deepEqual([breaker.state, refusalOf(breaker)], ['closed', undefined])
  timeOut(1)
  assert.equal(breaker.state, 'open')
  pass(2_500)
  const { reason, maybeProcessed, retryAfter } = refusalOf(breaker)!
  assert.deepEqual([reason, maybeProcessed, retryAfter], ['unreachable', false, 8])
})

test('any sign of life between two time-outs begins the count anew', () => {
  const { breaker, timeOut } = open()
  for (let round = 0; round < 3; round++) {
    timeOut(4)
    breaker.recordResponse()
  }
  assert.equal(breaker.state, 'closed')
})

test('after ten seconds one probe goes through, and the others wait for what comes of it', () => {
  const { breaker, timeOut, pass } = open()
  timeOut(5)
  pass(9_999)
  assert.equal(refusalOf(breaker)?.retryAfter, 1)
  pass(1)
  assert.equal(breaker.state, 'open')
  assert.equal(refusalOf(breaker), undefined)
  assert.equal(refusalOf(breaker)?.reason, 'unreachable')
  assert.equal(breaker.state, 'half-open')
})

test('a probe that succeeds closes it, one that times out opens it for as long again', () => {
  const { breaker, timeOut, pass } = open()
  timeOut(5)
  pass(10_000)
  breaker.assertClosed()
  breaker.recordTimeout()
  assert.deepEqual([breaker.state, refusalOf(breaker)?.retryAfter], ['open', 10])
  pass(10_000)
  breaker.assertClosed()
  breaker.recordResponse()
  assert.deepEqual([breaker.state, refusalOf(breaker)], ['closed', undefined])
})

test('a probe of which nothing is heard does not keep it open for ever', () => {
  const { breaker, timeOut, pass } = open()
  timeOut(5)
  pass(10_000)
  breaker.assertClosed()
  pass(9_999)
  assert.equal(refusalOf(breaker)?.retryAfter, 1)
  pass(1)
  assert.equal(refusalOf(breaker), undefined)
})
