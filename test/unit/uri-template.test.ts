import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesTemplate } from '../../src/domain/uri-template.ts'

const check = (rows: readonly (readonly [string, string, boolean])[]) => {
  for (const [template, uri, expected] of rows) {
    assert.equal(matchesTemplate(template, uri), expected, `${template} ${uri}`)
  }
}

test('a template without expressions matches itself alone', () => {
  check([
    ['test://a', 'test://a', true],
    ['test://a', 'test://a/', false],
    ['test://a', 'TEST://a', false],
    ['', '', true]
  ])
})

test('a simple expression takes one part of a path, an empty one included', () => {
  check([
    ['test://template/{id}/data', 'test://template/123/data', true],
    ['test://template/{id}/data', 'test://template//data', true],
    ['test://template/{id}/data', 'test://template/a%2Fb/data', true],
    ['test://template/{id}/data', 'test://template/a/b/data', false],
    ['test://template/{id}/data', 'test://template/123', false],
    ['test://template/{id}', 'test://template/1?x=1', false],
    ['test://template/{id}', 'test://template/1#x', false],
    ['x://{a}/{b}', 'x://1/2', true],
    ['x://{a}-{b}.json', 'x://1-2.json', true],
    ['x://{a}-{b}.json', 'x://1-2.xml', false]
  ])
})

test('a reserved expression takes slashes as well', () => {
  check([
    ['file:///{+path}', 'file:///a/b/c?x#y', true],
    ['{+url}', 'anything://at/all', true],
    ['doc://{+path}/raw', 'doc://a/b/raw', true],
    ['doc://{+path}/raw', 'doc://a/b', false]
  ])
})

test('CR-F7: a simple expression that explodes takes slashes as well, as the SDKs that write it mean it', () => {
  check([
    ['path://{p*}', 'path://a/b/c', true],
    ['path://{p*}', 'path://a', true],
    ['path://{p*}', 'other://a/b', false],
    ['path://{p*}/raw', 'path://a/b/raw', true],
    ['path://{p*}/raw', 'path://a/b', false],
    ['path://{id}/{p*}', 'path://1/a/b', true],
    ['path://{id}', 'path://a/b', false]
  ])
})

test('the other operators take nothing, or what begins with their own character', () => {
  check([
    ['x://data{?q,limit}', 'x://data', true],
    ['x://data{?q,limit}', 'x://data?q=1&limit=2', true],
    ['x://data{?q,limit}', 'x://database', false],
    ['x://data?a=1{&b}', 'x://data?a=1&b=2', true],
    ['x://data?a=1{&b}', 'x://data?a=12', false],
    ['x://a{/path*}', 'x://a/b/c', true],
    ['x://a{/path*}', 'x://abc', false],
    ['x://a{#part}', 'x://a#b', true],
    ['x://a{.ext}', 'x://a.json', true],
    ['x://a{.ext}', 'x://abc', false],
    ['x://a{;v}', 'x://a;v=1', true]
  ])
})

test('a malformed template matches nothing', () => {
  check([
    ['x://{a', 'x://{a', false],
    ['x://{a', 'x://1', false]
  ])
})

test('a hostile template costs no more than its length', () => {
  const before = process.cpuUsage()
  assert.equal(matchesTemplate('{a}x'.repeat(5_000), 'x'.repeat(4_999)), false)
  assert.equal(matchesTemplate('{+a}x'.repeat(500), `${'x'.repeat(100_000)}y`), false)
  assert.equal(matchesTemplate('{a*}x'.repeat(500), `${'x'.repeat(100_000)}y`), false)
  assert.ok(process.cpuUsage(before).user < 3_000_000)
})

test('SR-H3 a template of more than 32 expressions is no place to look for them in a URI', () => {
  const template = (count: number) => `x://${'{+a}y'.repeat(count)}`
  assert.equal(matchesTemplate(template(32), `x://${'y'.repeat(32)}`), true, '32 expressions')
  assert.equal(matchesTemplate(template(33), `x://${'y'.repeat(33)}`), false, '33 expressions')
})
