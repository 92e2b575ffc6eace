import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  canBeBare,
  changeCount,
  selectionOf,
  draftOf,
  emptyDraft,
  groupInput,
  isAllPicked,
  toggleServer,
  toggleShown,
  toggleTool,
  withoutName,
  withTools,
  type Draft
} from '../../dashboard/src/groups/draft.ts'
import { startHistory, addStep, undo } from '../../dashboard/src/groups/history.ts'
import { treeOf, type TreeTool } from '../../dashboard/src/groups/tree.ts'

const files = ['files__read', 'files__write', 'files__list']
const draft = (lists: Partial<Draft>): Draft => ({ ...emptyDraft, name: 'g', ...lists })
const stateOf = (group: Draft, server = 'files', names = files) => selectionOf(group).stateOf(server, names)

test('a checked server follows new tools, and an unchecked one takes nothing', () => {
  const on = toggleServer(draft({}), 'files', files)
  assert.deepEqual(on.included_servers, ['files'])
  assert.equal(stateOf(on), 'on')
  assert.deepEqual(toggleServer(on, 'files', files), draft({}))
})

test('a tool unchecked below a checked server is excluded, and checked again let in', () => {
  const on = draft({ included_servers: ['files'] })
  const out = toggleTool(on, 'files', 'files__write')
  assert.deepEqual(out, draft({ included_servers: ['files'], excluded_tools: ['files__write'] }))
  assert.equal(stateOf(out), 'mixed')
  assert.deepEqual(toggleTool(out, 'files', 'files__write'), on)
})

test('a tool checked below an unchecked server is picked', () => {
  const picked = toggleTool(draft({}), 'files', 'files__read')
  assert.deepEqual(picked, draft({ included_tools: ['files__read'] }))
  assert.equal(stateOf(picked), 'mixed')
  assert.deepEqual(toggleTool(picked, 'files', 'files__read'), draft({}))
})

test('a click on a mixed server makes it whole, and its picks and exclusions go; those of others stay', () => {
  const mixed = draft({
    included_servers: ['files'],
    included_tools: ['git__log'],
    excluded_tools: ['files__write', 'filesystem__x']
  })
  const on = toggleServer(mixed, 'files', files)
  assert.deepEqual(
    on,
    draft({ included_servers: ['files'], included_tools: ['git__log'], excluded_tools: ['filesystem__x'] })
  )
  assert.deepEqual(
    toggleServer(draft({ included_tools: ['files__read'] }), 'files', files),
    draft({ included_servers: ['files'] })
  )
})

test('all tools picked one by one are not the server: it stays mixed, which is worth a hint', () => {
  const all = draft({ included_tools: files })
  assert.equal(stateOf(all), 'mixed')
  assert.ok(isAllPicked(all, 'files', files))
  assert.ok(!isAllPicked(draft({ included_servers: ['files'] }), 'files', files))
  assert.ok(!isAllPicked(draft({}), 'files', []))
})

test('a server whose tools are all excluded is mixed: tools that it adds are taken', () => {
  assert.equal(stateOf(draft({ included_servers: ['files'], excluded_tools: files })), 'mixed')
})

test('a pick that is excluded as well is out, and checking it makes it in', () => {
  const both = draft({ included_tools: ['files__read'], excluded_tools: ['files__read'] })
  assert.equal(selectionOf(both).includesTool('files', 'files__read'), false)
  assert.equal(stateOf(both), 'off')
  assert.deepEqual(toggleTool(both, 'files', 'files__read'), draft({ included_tools: ['files__read'] }))
})

test('a click on a box changes that box and no other, whatever the group was', () => {
  const name = fc.constantFrom(...files, 'git__log', 'git__diff', 'gone__x')
  const group = fc.record({
    included_servers: fc.uniqueArray(fc.constantFrom('files', 'git', 'gone')),
    included_tools: fc.uniqueArray(name),
    excluded_tools: fc.uniqueArray(name)
  })
  fc.assert(
    fc.property(group, name, (lists, tool) => {
      const before = draft(lists)
      const server = tool.split('__', 1)[0]!
      const after = toggleTool(before, server, tool)
      const [old, now] = [selectionOf(before), selectionOf(after)]
      for (const other of [...files, 'git__log', 'git__diff', 'gone__x']) {
        const owner = other.split('__', 1)[0]!
        assert.equal(
          now.includesTool(owner, other),
          other === tool ? !old.includesTool(owner, other) : old.includesTool(owner, other),
          other
        )
      }
      assert.deepEqual(after.included_servers, before.included_servers)
    })
  )
})

test('while a filter hides tools, a click on the server works on those that are shown', () => {
  const shown = [
    { server: 'files', name: 'files__read' },
    { server: 'files', name: 'files__list' }
  ]
  const picked = toggleShown(draft({}), shown)
  assert.deepEqual(picked, draft({ included_tools: ['files__list', 'files__read'] }))
  assert.deepEqual(toggleShown(picked, shown), draft({}))
  const followed = toggleShown(draft({ included_servers: ['files'], excluded_tools: ['files__write'] }), shown)
  assert.deepEqual(followed.excluded_tools, ['files__list', 'files__read', 'files__write'])
})

test('tools are added from elsewhere without doubling what is in', () => {
  const group = draft({ included_servers: ['files'], excluded_tools: ['files__read'] })
  const tools = ['files__read', 'files__write', 'git__log'].map((name) => ({ server: name.split('__', 1)[0]!, name }))
  assert.deepEqual(withTools(group, tools), draft({ included_servers: ['files'], included_tools: ['git__log'] }))
})

test('names that lead nowhere are kept, and dropped by hand', () => {
  const record = { name: 'g', included_servers: ['gone'], included_tools: ['gone__x'], excluded_tools: ['gone__y'] }
  const group = toggleTool(draftOf(record), 'files', 'files__read')
  assert.deepEqual(group.included_tools, ['files__read', 'gone__x'])
  const dropped = ['gone', 'gone__x', 'gone__y'].reduce(withoutName, group)
  assert.deepEqual(groupInput(dropped), { name: 'g', included_tools: ['files__read'] })
})

test('bare names end where there is more than one whole server', () => {
  const bare = draft({ included_servers: ['files'], tool_names: 'bare' })
  assert.ok(canBeBare(bare))
  assert.equal(toggleServer(bare, 'git', ['git__log']).tool_names, 'qualified')
  assert.equal(toggleTool(bare, 'git', 'git__log').tool_names, 'qualified')
  assert.equal(toggleTool(bare, 'files', 'files__read').tool_names, 'bare')
})

test('the file of a group holds what is set and nothing else', () => {
  assert.deepEqual(groupInput(draft({ description: ' ' })), { name: 'g' })
  const full = draft({
    description: 'Reads',
    included_servers: ['files'],
    excluded_tools: ['files__write'],
    tool_names: 'bare'
  })
  assert.deepEqual(groupInput(full), {
    name: 'g',
    description: 'Reads',
    included_servers: ['files'],
    excluded_tools: ['files__write'],
    tool_names: 'bare'
  })
})

test('changes are counted by name, whatever their order', () => {
  const before = draft({ included_tools: ['a__1', 'a__2'] })
  assert.equal(changeCount(before, draft({ included_tools: ['a__2', 'a__1'] })), 0)
  assert.equal(changeCount(before, draft({ included_tools: ['a__2', 'a__3'], description: 'x' })), 3)
})

test('each step is undone, and steps that change nothing are none', () => {
  const first = startHistory(1)
  const third = addStep(addStep(addStep(first, 2), 2), 3)
  assert.equal(third.past.length, 2)
  assert.equal(undo(third).now, 2)
  assert.equal(undo(undo(undo(third))).now, 1)
})

const tool = (canonical_name: string, members: Partial<TreeTool> = {}): TreeTool => {
  const [server = '', name = ''] = canonical_name.split('__')
  return { canonical_name, name, server, enabled: true, tokens: 10, flags: [], ...members }
}
const tools = [
  tool('files__read', { annotations: { readOnlyHint: true } }),
  tool('files__write', { description: 'Overwrites a FILE' }),
  tool('git__log', { annotations: { readOnlyHint: true } })
]
const servers = [
  { name: 'empty', status: 'sign_in_needed' as const },
  { name: 'files', status: 'connected' as const },
  { name: 'git', status: 'failing' as const }
]
const tree = (q: string, show: 'all' | 'chosen' | 'read-only', group: Draft = draft({})) =>
  treeOf(servers, tools, { q, show }, selectionOf(group)).map((branch) => [
    branch.server.name,
    branch.tools.map(({ name }) => name),
    branch.names.length
  ])

test('the tree holds each server with its tools, also those that have none yet', () => {
  assert.deepEqual(tree('', 'all'), [
    ['empty', [], 0],
    ['files', ['read', 'write'], 2],
    ['git', ['log'], 1]
  ])
})

test('the tree is narrowed by text, by what is chosen and by what only reads', () => {
  assert.deepEqual(tree('file over', 'all'), [['files', ['write'], 2]], 'all words, in name or description')
  assert.deepEqual(tree('git', 'all'), [['git', ['log'], 1]], 'a server by its name has all of its tools')
  assert.deepEqual(tree('', 'read-only'), [
    ['files', ['read'], 2],
    ['git', ['log'], 1]
  ])
  assert.deepEqual(tree('', 'chosen', draft({ included_servers: ['empty'], included_tools: ['git__log'] })), [
    ['empty', [], 0],
    ['git', ['log'], 1]
  ])
})

test('search mode is kept by an edit, counted as a change, and left out where it is off', () => {
  const search = draft({ tool_list: 'search', always_listed: ['files__read'], search_limit: '5' })
  const { name, ...body } = groupInput(search)
  assert.deepEqual(body, { tool_list: 'search', always_listed: ['files__read'], search_limit: 5 })
  const lists = { included_servers: [], included_tools: [], excluded_tools: [] }
  const stored = { tool_list: 'search', always_listed: ['files__read'], search_limit: 5 } as const
  assert.deepEqual(draftOf({ name, ...lists, ...stored }), search)
  assert.equal(changeCount(draft({}), search), 3)
  assert.deepEqual(withoutName(search, 'files__read').always_listed, [])
  assert.deepEqual(groupInput(draft({})), { name: 'g' })
})
