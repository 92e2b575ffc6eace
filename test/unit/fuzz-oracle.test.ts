import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequests, withContentLength, write } from '../fuzz/message.ts'
import { judge } from '../fuzz/oracle.ts'

const request = (headers: readonly (readonly [string, string])[], body: string) =>
  write({ method: 'POST', path: '/mcp', version: 'HTTP/1.1', headers: [['Host', 'h'], ...headers], body })
const answer = (status: number, body: string, type = 'application/json') =>
  `HTTP/1.1 ${status} X\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const get = 'GET /a HTTP/1.1\r\nHost: h\r\n\r\n'

test('requests end where RFC 9112 says, and nothing is counted behind a doubt', () => {
  const complete = (text: string) => [parseRequests(text).complete.length, parseRequests(text).hasRest]
  assert.deepEqual(complete(get + get), [2, false])
  assert.deepEqual(complete(request([['Content-Length', '2']], '{}') + get), [2, false])
  assert.deepEqual(complete(request([['Transfer-Encoding', 'chunked']], '2\r\n{}\r\n0\r\nX: y\r\n\r\n') + get), [
    2,
    false
  ])
  assert.deepEqual(complete(request([['Content-Length', '3']], '{}')), [0, true])
  const doubtful: [string, string][][] = [
    [
      ['Content-Length', '2'],
      ['Content-Length', '2']
    ],
    [
      ['Content-Length', '0'],
      ['Transfer-Encoding', 'chunked']
    ],
    [['Content-Length', '+2']],
    [['Content-Length ', '2']],
    [['Transfer-Encoding', 'x, chunked']],
    [['X', 'a\nContent-Length: 2']]
  ]
  for (const headers of doubtful)
    assert.deepEqual(complete(request(headers, '0\r\n\r\n') + get), [0, true], String(headers))
  for (const chunks of [
    '5 \r\nhello\r\n0\r\n\r\n',
    '5\r\nhello0\r\n\r\n',
    '5\nhello\r\n0\r\n\r\n',
    '0\r\nX : y\r\n\r\n'
  ]) {
    assert.deepEqual(complete(request([['Transfer-Encoding', 'chunked']], chunks) + get), [0, true], chunks)
  }
})

test('answers are judged by their number, status, type and text', () => {
  const one = {
    text: write(withContentLength({ method: 'POST', path: '/', version: 'HTTP/1.1', headers: [], body: '{}' })),
    isRequest: true
  }
  const verdict = (received: string) => judge(one, { received, isClosed: false })
  const rpcError = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'
  for (const good of [
    answer(200, '{}'),
    answer(400, '{"error":"x"}'),
    answer(400, rpcError),
    answer(502, '{"error":"x"}')
  ]) {
    assert.equal(verdict(good), undefined)
    assert.equal(verdict(`HTTP/1.1 100 Continue\r\n\r\n${good}`), undefined)
  }
  assert.equal(verdict(''), 'no answer')
  assert.match(verdict(answer(200, '{}') + answer(200, '{}'))!, /2 answers to 1/)
  assert.match(verdict(answer(500, '{"error":"x"}'))!, /status 500/)
  assert.match(verdict(answer(404, '{"error":"x"}', 'text/plain'))!, /another type/)
  const page = '<!doctype html><html lang="en"><body><h1>The sign-in was not completed</h1></body></html>'
  assert.equal(verdict(answer(400, page, 'text/html; charset=utf-8')), undefined)
  assert.match(verdict(answer(400, '<h1>Bad Request</h1>', 'text/html; charset=utf-8'))!, /another type/)
  assert.match(verdict(answer(404, '{"message":"x"}'))!, /neither/)
  assert.match(verdict(answer(404, '{"error":'))!, /no JSON/)
  assert.match(verdict(answer(200, '{"a":"\\q"}'))!, /no JSON/)
  assert.match(verdict(answer(200, '{"a":"\xff"}'))!, /not UTF-8/)
  assert.equal(verdict(answer(200, '<p>', 'text/html')), undefined)
  assert.match(verdict(answer(404, '{"error":"at f (/app/src/a.ts:1:2)"}'))!, /too much/)
  assert.match(
    verdict(answer(200, 'event: message\ndata: {"a\n\ndata: {]}\n\n', 'text/event-stream'))!,
    /an event that is no JSON/
  )
  assert.match(verdict('nonsense\r\n\r\n')!, /no status line/)
})
