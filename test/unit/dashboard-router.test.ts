import assert from 'node:assert/strict'
import { test } from 'node:test'
import { link, parseHash, type Page } from '../../dashboard/src/router.ts'

const named = ['server', 'tool', 'prompt', 'group', 'call'] as const
const plain: readonly Page[] = ['overview', 'servers', 'new-server', 'tools', 'prompts', 'resources', 'groups']

test('an empty hash is the servers page', () => {
  for (const hash of ['', '#', '#/']) assert.deepEqual(parseHash(hash), { page: 'servers', name: '', query: {} })
})

test('every page is found again by its link', () => {
  for (const page of plain) assert.deepEqual(parseHash(link(page)), { page, name: '', query: {} })
})

test('names come back as they are, whatever they hold', () => {
  for (const page of named) {
    for (const name of ['github', 'a/b', 'a__b?c=d#e', 'new', '%2F', 'ä 日本', '../x', '<img src=x>']) {
      assert.deepEqual(parseHash(link(page, name)), { page, name, query: {} })
    }
  }
})

test('a server may be called new, and new/server is still the form', () => {
  assert.equal(parseHash(link('server', 'new')).page, 'server')
  assert.equal(parseHash('#/new/server').page, 'new-server')
})

test('a query keeps what is given and leaves out what is empty', () => {
  const hash = link('tools', '', { server: 'a&b', q: '', state: undefined })
  assert.equal(hash, '#/tools?server=a%26b')
  assert.deepEqual(parseHash(hash).query, { server: 'a&b' })
})

test('what is no page is unknown, broken encoding too', () => {
  for (const hash of ['#/nothing', '#/servers/a/b', '#/servers/', '#/servers/%E0%A4%A', '#/new']) {
    assert.equal(parseHash(hash).page, 'unknown', hash)
  }
})
