import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canBeBare, missingNames, resolveGroup, selects, type GroupRules } from '../../src/domain/groups.ts'
import { splitName } from '../../src/domain/names.ts'

const rules = (more: Partial<GroupRules> = {}): GroupRules => ({
  included_tools: [],
  included_servers: [],
  excluded_tools: [],
  ...more
})

/** Returns a generator of the same numbers in every run, so that a failure can be repeated. */
function createRandom(seed: number) {
  let state = seed
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const some = <T>(from: readonly T[], upTo: number): T[] =>
    Array.from({ length: next(upTo + 1) }, () => from[next(from.length)]!)
  return { next, some }
}

const servers = ['a', 'b', 'A', 'a-b', 'constructor']
const own = ['x', 'y', 'x__y', '_x', '__x', 'a/b', 'toString', 'ü', '']
const tools = servers.flatMap((server) => own.map((name) => ({ server, name, qualified: `${server}__${name}` })))
const odd = ['x', '__x', 'nobody__x', 'a', 'a_x', '']

test('a tool is in a group exactly when it or its server is included and it is not excluded, whatever the rules', () => {
  const random = createRandom(5)
  const names = [...tools.map(({ qualified }) => qualified), ...odd]
  for (let round = 0; round < 3_000; round++) {
    const group = rules({
      included_tools: random.some(names, 8),
      included_servers: random.some([...servers, 'nobody', ''], 3),
      excluded_tools: random.some(names, 8)
    })
    const selections = resolveGroup(group)
    for (const { server, name, qualified } of tools) {
      const selection = selections.get(server)
      const isIn = selection !== undefined && selects(selection, name)
      const isIncluded = group.included_tools.includes(qualified) || group.included_servers.includes(server)
      assert.equal(
        isIn,
        isIncluded && !group.excluded_tools.includes(qualified),
        `${qualified} ${JSON.stringify(group)}`
      )
    }
    for (const [server, { isWhole }] of selections) assert.equal(isWhole, group.included_servers.includes(server))
  }
})

test('the order of names and how often they are said make no difference', () => {
  const random = createRandom(6)
  const names = tools.map(({ qualified }) => qualified)
  for (let round = 0; round < 300; round++) {
    const group = rules({
      included_tools: random.some(names, 6),
      included_servers: random.some(servers, 3),
      excluded_tools: random.some(names, 6)
    })
    const twice = (list: readonly string[]) => [...list, ...list].toReversed()
    const other = rules({
      included_tools: twice(group.included_tools),
      included_servers: twice(group.included_servers),
      excluded_tools: twice(group.excluded_tools)
    })
    const shown = (each: GroupRules) =>
      [...resolveGroup(each)].map(([server, { isWhole, names: taken }]) =>
        JSON.stringify([server, isWhole, [...taken].sort()])
      )
    assert.deepEqual(shown(group).sort(), shown(other).sort())
  }
})

test('a group with nothing included holds nothing, and its rules stay as they were', () => {
  assert.equal(resolveGroup(rules()).size, 0)
  assert.equal(resolveGroup(rules({ excluded_tools: ['a__x'] })).size, 0)
  assert.equal(resolveGroup(rules({ included_tools: ['a__x'], excluded_tools: ['a__x'] })).size, 0)
  const frozen = rules({
    included_tools: Object.freeze(['a__x', 'a__y']),
    included_servers: Object.freeze(['b']),
    excluded_tools: Object.freeze(['a__x', 'b__x'])
  })
  resolveGroup(frozen)
  assert.deepEqual(frozen.included_tools, ['a__x', 'a__y'])
})

test('what leads to nothing is missing: in any of the lists, once, and by its exact name', () => {
  const known = {
    hasServer: (name: string) => servers.includes(name),
    hasTool: (server: string, name: string) => tools.some((each) => each.server === server && each.name === name)
  }
  const group = rules({
    included_tools: ['a__x', 'a__X', 'a', 'nobody__x', 'a__x__y'],
    included_servers: ['b', 'B', 'nobody', ' b'],
    excluded_tools: ['a__X', 'b__gone', 'constructor__toString', 'constructor__valueOf']
  })
  assert.deepEqual(missingNames(group, known), {
    tools: ['a__X', 'a', 'nobody__x', 'b__gone', 'constructor__valueOf'],
    servers: ['B', 'nobody', ' b']
  })
  assert.deepEqual(missingNames(rules(), known), { tools: [], servers: [] })
})

test('bare names are for one whole server and nothing else, whatever is left out of it', () => {
  assert.equal(canBeBare(rules({ included_servers: ['a'] })), true)
  assert.equal(canBeBare(rules({ included_servers: ['a'], excluded_tools: ['a__x', 'b__x'] })), true)
  assert.equal(canBeBare(rules()), false)
  assert.equal(canBeBare(rules({ included_servers: ['a', 'b'] })), false)
  assert.equal(canBeBare(rules({ included_servers: ['a'], included_tools: ['a__x'] })), false)
  assert.equal(canBeBare(rules({ included_tools: ['a__x'] })), false)
})

test('names split at the first two underscores', () => {
  for (const { server, name, qualified } of tools) assert.deepEqual(splitName(qualified), { server, name })
})
