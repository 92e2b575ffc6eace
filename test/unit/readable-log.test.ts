import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogOutput, createNoticeOutput, formatLine } from '../../src/cli/io/readable-log.ts'

const time = Date.parse('2026-11-21T12:00:01.234Z')
const line = (more: object) => formatLine(`${JSON.stringify({ level: 40, time, pid: 1, hostname: 'h', ...more })}\n`)

test('a line has its time, its level, its text and its facts, and no more', () => {
  assert.equal(
    line({ msg: 'a server is gone', server: 'alpha', count: 2, list: ['a'] }),
    '12:00:01.234 WARN  a server is gone server=alpha count=2 list=["a"]\n'
  )
  assert.equal(line({ level: 50, msg: 'x' }), '12:00:01.234 ERROR x\n')
  assert.equal(line({ level: 35 }), '12:00:01.234 35    \n')
})

test('an error stands below, a line for each place in the code', () => {
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at f (a.ts:1:2)\n' }
  assert.equal(line({ msg: 'x', err }), '12:00:01.234 WARN  x\n    Error: broken\n    at f (a.ts:1:2)\n')
  assert.equal(line({ msg: 'x', err: { message: 'broken' } }), '12:00:01.234 WARN  x\n    broken\n')
})

test('nothing in a line can steer the terminal or forge another line', () => {
  const text = 'a\n12:00:00.000 FATAL b \u001b[2J \u009b2J \u202e'
  const out = line({ msg: text, fact: text, err: { stack: '\u001b[31mred' } })
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  assert.doesNotMatch(out.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u202e]/)
  assert.equal(out.split('\n').length, 3)
  assert.ok(out.includes('\\u{1b}[2J'))
})

test('what is no JSON is passed on as it is', () => {
  assert.equal(formatLine('plain\n'), 'plain\n')
})

const stopping = `${JSON.stringify({ level: 30, time, msg: 'stopping', signal: 'SIGTERM' })}\n`
const collect = () => {
  const written: string[] = []
  return { written, stream: { write: (text: string) => written.push(text) } }
}

test('the text format shows log lines to people, the JSON format leaves them as they are', () => {
  const [text, json] = [collect(), collect()]
  createLogOutput(text.stream, 'text').write(stopping)
  createLogOutput(json.stream, 'json').write(stopping)
  assert.deepEqual(text.written, ['12:00:01.234 INFO  stopping signal=SIGTERM\n'])
  assert.deepEqual(json.written, [stopping])
})

test('a notice of several lines is one log line in the JSON format', () => {
  const [text, json] = [collect(), collect()]
  createNoticeOutput(text.stream, 'text')('one\ntwo')
  createNoticeOutput(json.stream, 'json')('one\ntwo')
  assert.deepEqual(text.written, ['one\ntwo\n'])
  assert.equal(json.written.length, 1)
  assert.match(json.written[0]!, /^\{"level":30,.*"msg":"one\\ntwo"\}\n$/)
})
