import assert from 'node:assert/strict'
import test from 'node:test'
import { isHeaderName, isHeaderValue, isReservedHeader } from '../../src/domain/network/http-fields.ts'
import { isLoopback } from '../../src/domain/network/loopback.ts'
import { isServerName } from '../../src/domain/names.ts'
import { isStorable } from '../../src/domain/text/text.ts'
import { secureUrlProblem, upstreamUrlProblem } from '../../src/domain/network/upstream-url.ts'

test('server names: letters, digits, single underscores inside and hyphens, up to 64', () => {
  for (const name of ['a', 'A9', 'a-b_c', 'a-', 'x'.repeat(64)]) assert.ok(isServerName(name), name)
})

test('AZ-12 IN-03 names that could not be split, found in a path or stored are no server names', () => {
  const bad = [
    '',
    ' ',
    'a b',
    'a/b',
    '../x',
    'a\0b',
    '🙂',
    'x'.repeat(65),
    'a%2Fb',
    'a__b',
    'a_',
    '_a__',
    '-a',
    'é',
    'a\n'
  ]
  for (const name of bad) assert.ok(!isServerName(name), JSON.stringify(name))
})

test('IN-08 NUL and lone surrogates cannot be stored, whole pairs can', () => {
  for (const text of ['a\0', '\ud800', 'x\udc00y']) assert.ok(!isStorable(text), JSON.stringify(text))
  for (const text of ['', '🙂', 'é\n\t']) assert.ok(isStorable(text), JSON.stringify(text))
})

test('IN-02 upstream URLs are http or https and complete', () => {
  const bad = [
    'file:///etc/passwd',
    'ftp://h',
    'javascript:x',
    'gopher://h',
    '//h/x',
    'http://',
    'x',
    ' http://h',
    'http://h ',
    'http:h',
    'http:/h',
    'http:///h',
    'http://h\\@x',
    'http://h/a b',
    'http://h/\n',
    'http://h/#f',
    'http://h:99999'
  ]
  for (const url of bad) assert.ok(upstreamUrlProblem(url), JSON.stringify(url))
  for (const url of ['http://h', 'HTTPS://h:8443/p?q=1', 'http://[::1]:3000/mcp', 'http://h/p@q']) {
    assert.equal(upstreamUrlProblem(url), undefined, url)
  }
})

test('user information in a URL is refused, empty user information too, and not repeated', () => {
  for (const url of ['http://user:SENT@h/', 'http://SENT@h/', 'http://@h/', 'http://:@h/']) {
    const problem = upstreamUrlProblem(url)
    assert.match(problem!, /user name or password/)
    assert.doesNotMatch(problem!, /SENT/)
  }
})

test('OA-10 a redirect URI is https, or http on a loopback name', () => {
  for (const uri of ['http://evil.example/cb', 'javascript:x', 'https://h/cb#f']) assert.ok(secureUrlProblem(uri), uri)
  for (const uri of ['https://h/cb', 'http://localhost:8080/cb', 'http://[::1]/cb']) {
    assert.equal(secureUrlProblem(uri), undefined, uri)
  }
})

test('header names are tokens, values have no line breaks and no white space around them', () => {
  for (const name of ['', 'X y', 'X:', 'Ä', 'X\n']) assert.ok(!isHeaderName(name), JSON.stringify(name))
  for (const name of ['X-A', 'authorization', "!#$%&'*+-.^_`|~"]) assert.ok(isHeaderName(name), name)
  for (const value of ['a\nb', 'a\rb', 'a\0', '€', ' a', 'a ']) assert.ok(!isHeaderValue(value), JSON.stringify(value))
  for (const value of ['', 'Bearer x', 'a\tb', 'é']) assert.ok(isHeaderValue(value), JSON.stringify(value))
})

test('headers of the connection and of the protocol are reserved in any letter case', () => {
  for (const name of ['Host', 'CONTENT-LENGTH', 'Connection', 'Mcp-Session-Id', 'mcp-param-x', 'Accept']) {
    assert.ok(isReservedHeader(name), name)
  }
  for (const name of ['Authorization', 'Cookie', 'X-Api-Key']) assert.ok(!isReservedHeader(name), name)
})

test('loopback names are compared whole', () => {
  for (const name of ['localhost', 'LOCALHOST', '127.0.0.1', '::1', '[::1]']) assert.ok(isLoopback(name), name)
  for (const name of ['127.0.0.1.evil.example', 'localhost.evil.example', '0.0.0.0', ''])
    assert.ok(!isLoopback(name), name)
})
