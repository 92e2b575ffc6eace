import assert from 'node:assert/strict'
import test from 'node:test'
import { cpuMs } from '../cpu.ts'
import { withQuery } from '../../src/cli/io/api.ts'
import { resolveConnection, registryUrl } from '../../src/cli/io/connection.ts'
import { answerFailure, Failure } from '../../src/cli/io/failure.ts'
import { nearest } from '../../src/cli/output/suggest.ts'
import { details, table } from '../../src/cli/output/table.ts'

const at = (flag?: string, env: Record<string, string> = {}, file = {}) =>
  resolveConnection(flag, env, file, '/home/x/.conf')

test('the registry is the flag’s, then the environment’s, then the file’s, then the default', () => {
  const env = { TOWPATH_REGISTRY: 'http://env:1' }
  const file = { registry_url: 'http://file:2/' }
  assert.deepEqual(
    [at('http://flag:3', env, file).registry, at('http://flag:3', env, file).source],
    ['http://flag:3', '--registry']
  )
  assert.equal(at(undefined, env, file).registry, 'http://env:1')
  assert.equal(at(undefined, {}, file).registry, 'http://file:2')
  assert.equal(at().registry, 'http://127.0.0.1:8080')
})

test('the token is the environment’s before the file’s, and goes with every registry', () => {
  const file = { access_token: 'from-file' }
  assert.equal(at('http://x', { TOWPATH_TOKEN: 'from-env' }, file).token, 'from-env')
  assert.equal(at('http://x', {}, file).token, 'from-file')
  assert.equal(at().token, undefined)
})

test('a registry URL that cannot be used is refused without showing what it holds', () => {
  for (const url of ['nonsense', 'ftp://x', 'http://user:secret@x', 'http://x?a=secret', 'http://x#secret']) {
    assert.throws(
      () => registryUrl(url, '--registry'),
      (error: Failure) => error.exitCode === 2 && !error.message.includes('secret') && !error.message.includes(url)
    )
  }
  assert.equal(registryUrl('http://x/gateway/', 'x'), 'http://x/gateway')
})

test('a token that no header can carry is refused without being shown', () => {
  assert.throws(
    () => at(undefined, { TOWPATH_TOKEN: 'se cret' }),
    (error: Failure) => error.exitCode === 2 && !error.message.includes('se cret')
  )
})

test('each status has its exit code', () => {
  const codes = [400, 401, 403, 404, 409, 500, 502, 503].map((status) => answerFailure(status, 'x').exitCode)
  assert.deepEqual(codes, [2, 4, 4, 3, 5, 1, 1, 1])
  assert.match(answerFailure(403, 'x', 'not_initialized').hint!, /init-server/)
})

test('the name that was probably meant is found, and none where none is near', () => {
  const names = ['alpha__echo', 'alpha__fail', 'demo__word_count']
  assert.equal(nearest('alpha__ehco', names), 'alpha__echo')
  assert.equal(nearest('Demo__word-count', names), 'demo__word_count')
  assert.equal(nearest('word_count', names), 'demo__word_count')
  assert.equal(nearest('zzzzzz', names), undefined)
  assert.equal(nearest('anything', []), undefined)
})

test('a query holds what is given and escapes it', () => {
  assert.equal(withQuery('/x', { a: 'b c&', d: undefined, n: 1 }), '/x?a=b+c%26&n=1')
  assert.equal(withQuery('/x', { a: undefined }), '/x')
})

test('a table lines up, is never cut without a width, and fits a terminal with one', () => {
  const rows = [
    ['a', 'x'.repeat(50)],
    ['longer', 'y']
  ]
  assert.equal(table(['name', 'text'], rows), `NAME    TEXT\na       ${'x'.repeat(50)}\nlonger  y`)
  const lines = table(['name', 'text'], rows, 30).split('\n')
  assert.equal(lines[1], `a       ${'x'.repeat(21)}…`)
})

test('what upstreams say forges no line and moves no cursor', () => {
  const text = table(['name'], [['a\u001b[2Jb\nc\u009b1m\u202e']])
  assert.equal(text, 'NAME\na\\u{1b}[2Jb c\\u{9b}1m\\u{202e}')
  assert.equal(
    details([
      ['x', 'a\u001bb'],
      ['gone', undefined],
      ['empty', '']
    ]),
    'x:  a\\u{1b}b'
  )
})

test('SR-M8 a description of nothing but white space is shown in proportion to its length', async () => {
  const cost = (length: number) => cpuMs(() => table(['text'], [[`a${' '.repeat(length)}b`]]))
  await cost(1_000)
  const [short, long] = [await cost(4_000), await cost(64_000)]
  assert.ok(long < 80 * Math.max(short, 5), `${short} ms, then ${long} ms for sixteen times the length`)
  assert.equal(table(['text'], [['  a \n \t b\r\n\r\nc  d ']]), 'TEXT\na b c  d', 'lines become one')
})
