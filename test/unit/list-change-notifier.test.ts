import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { createListChangeNotifier } from '../../src/mcp/list-change-notifier.ts'
import { globalScope, type Scope } from '../../src/catalog/scope.ts'
import { catalogOf, prompt, resource, storedServer, template, tool } from './stored.ts'
import { until } from '../until.ts'
import type { ListKind } from '../../src/domain/mcp-constants.ts'

const start = () => catalogOf([storedServer('a', [tool('t'), prompt('p'), resource('x://1'), template('x://{a}')])])

function open(t: TestContext) {
  const watch = createListChangeNotifier()
  t.after(() => watch.close())
  const state: { catalog: Catalog } = { catalog: start() }
  const listen = () => {
    const heard: ListKind[] = []
    const watcher = {
      principal: 'ann',
      endpoint: '/mcp',
      scope: () => globalScope(state.catalog),
      notifyListChanged: (list: ListKind) => void heard.push(list),
      end: () => {}
    }
    watch.add(watcher)
    return { heard, watcher }
  }
  const swap = (catalog: Catalog) => {
    state.catalog = catalog
    watch.schedule()
  }
  return { watch, listen, swap }
}
const quiet = () => new Promise((resolve) => setTimeout(resolve, 250))

test('only the lists that changed are told of', async (t) => {
  const { listen, swap } = open(t)
  const { heard } = listen()
  const steps: [Catalog, ListKind[]][] = [
    [catalogOf([storedServer('a', [tool('u'), prompt('p'), resource('x://1'), template('x://{a}')])]), ['tools']],
    [catalogOf([storedServer('a', [tool('u'), prompt('q'), resource('x://1'), template('x://{a}')])]), ['prompts']],
    [catalogOf([storedServer('a', [tool('u'), prompt('q'), resource('x://1'), template('x://{b}')])]), ['resources']],
    [catalogOf([storedServer('a', [tool('u'), prompt('q')])]), ['resources']],
    [catalogOf([storedServer('b', [tool('u'), prompt('q')])]), ['tools', 'prompts']],
    [catalogOf([storedServer('b', [tool('u', { enabled: false }), prompt('q')])]), ['tools']]
  ]
  for (const [catalog, lists] of steps) {
    swap(catalog)
    await until(`${lists.join()} is told of`, () => heard.length >= lists.length)
    assert.deepEqual(heard.splice(0), lists)
  }
})

test('nobody is told where the lists read the same, though the catalog is another', async (t) => {
  const { listen, swap } = open(t)
  const { heard } = listen()
  swap(start())
  await quiet()
  const empty = storedServer('z', [], { description: 'offers nothing' })
  swap(catalogOf([...start().servers.map(({ stored }) => ({ ...stored, description: 'other' })), empty]))
  await quiet()
  assert.deepEqual(heard, [])
})

test('a burst is told of once, and a change that was taken back not at all', async (t) => {
  const { listen, swap } = open(t)
  const { heard } = listen()
  for (let i = 0; i < 20; i++) swap(catalogOf([storedServer('a', [tool(`t${i}`)])]))
  await until('it is told of', () => heard.length >= 3)
  await quiet()
  assert.deepEqual(heard, ['tools', 'prompts', 'resources'])
  swap(start())
  swap(catalogOf([storedServer('a', [tool('t19')])]))
  await quiet()
  assert.equal(heard.length, 3)
})

test('changes without end are told of every second', async (t) => {
  const { listen, swap } = open(t)
  const { heard } = listen()
  let count = 0
  const timer = setInterval(() => swap(catalogOf([storedServer('a', [tool(`t${count++}`)])])), 30)
  t.after(() => clearInterval(timer))
  const before = performance.now()
  await until('it is told of', () => heard.includes('tools'))
  assert.ok(performance.now() - before < 10_000)
})

test('each watcher is compared with what it saw, and one that left hears nothing', async (t) => {
  const { watch, listen, swap } = open(t)
  const [first, gone] = [listen(), listen()]
  watch.delete(gone.watcher)
  swap(catalogOf([storedServer('a', [tool('t')])]))
  const second = listen()
  await until('the first hears', () => first.heard.length === 2)
  assert.deepEqual([first.heard, second.heard, gone.heard], [['prompts', 'resources'], [], []])
})

test('watchers that are over are ended and hear nothing more, the others do', async (t) => {
  const { watch, swap } = open(t)
  const ended: string[] = []
  const heard: string[] = []
  for (const principal of ['ann', 'bob']) {
    watch.add({
      principal,
      endpoint: '/mcp',
      scope: () => globalScope(principal === 'ann' ? start() : catalogOf([])),
      notifyListChanged: (list) => void heard.push(`${principal} ${list}`),
      end: () => void ended.push(principal)
    })
  }
  watch.end(({ principal }) => principal === 'ann')
  assert.deepEqual(ended, ['ann'])
  swap(catalogOf([]))
  await quiet()
  assert.deepEqual(heard, [])
  watch.end(() => true)
  assert.deepEqual(ended, ['ann', 'bob'])
})

test('of what a server says itself those are told in whose scope it is, even if nothing differs', async (t) => {
  const { watch, listen, swap } = open(t)
  const { heard } = listen()
  watch.schedule({ server: 'elsewhere', lists: ['prompts'] })
  await quiet()
  assert.deepEqual(heard, [])
  watch.schedule({ server: 'a', lists: ['prompts'] })
  swap(catalogOf([storedServer('a', [tool('u'), prompt('p'), resource('x://1'), template('x://{a}')])]))
  await until('it is told of', () => heard.length === 2)
  await quiet()
  assert.deepEqual(heard, ['tools', 'prompts'])
})

test('SR-H3: the listings of an announced kind are not built to compare them', async (t) => {
  const { watch } = open(t)
  const built: string[] = []
  const heard: ListKind[] = []
  const scopeOf = (name: string): Scope => {
    const scope = globalScope(catalogOf([storedServer('a', [tool(name), prompt('p')])]))
    return {
      ...scope,
      listings(kind) {
        built.push(kind)
        return scope.listings(kind)
      }
    }
  }
  let scope = scopeOf('t')
  watch.add({
    principal: 'ann',
    endpoint: '/mcp',
    scope: () => scope,
    notifyListChanged: (list) => void heard.push(list),
    end: () => {}
  })
  scope = scopeOf('u')
  watch.schedule({ server: 'a', lists: ['tools'] })
  await until('the change is passed on', () => heard.length > 0)
  assert.deepEqual(heard, ['tools'])
  assert.ok(built.includes('prompt'), 'other kinds are compared')
  assert.ok(!built.includes('tool'))
})

test('the servers that somebody watches are known, and that this has changed', (t) => {
  let changes = 0
  const watch = createListChangeNotifier(() => changes++)
  t.after(() => watch.close())
  assert.deepEqual([...watch.servers()], [])
  const watcher = {
    principal: 'ann',
    endpoint: '/mcp',
    scope: () => globalScope(start()),
    notifyListChanged() {},
    end() {}
  }
  watch.add(watcher)
  assert.deepEqual([[...watch.servers()], changes], [['a'], 1])
  watch.delete(watcher)
  watch.delete(watcher)
  assert.deepEqual([[...watch.servers()], changes], [[], 2])
})
