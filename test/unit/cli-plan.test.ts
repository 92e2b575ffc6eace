import assert from 'node:assert/strict'
import test from 'node:test'
import { diffResource, normalise } from '../../src/cli/apply/plan.ts'
import { currentSwitches, switchMembers, switchPatch, splitSwitches } from '../../src/cli/apply/switches.ts'
import type { Failure } from '../../src/cli/io/failure.ts'
import { combineExitCodes } from '../../src/cli/apply/exit-codes.ts'

test('what the gateway would not keep, and what says nothing, makes no difference', () => {
  const stored = { name: 's', transport: 'sse', session_mode: 'stateless', url: 'http://x/sse' }
  const given = {
    name: 's',
    transport: 'sse',
    url: 'http://x/sse',
    headers: {},
    description: '',
    args: ['x'],
    env: null
  }
  assert.deepEqual(normalise('server', given), stored)
  assert.deepEqual(
    normalise('group', { name: 'g', included_tools: ['a', 'a'], tool_names: 'qualified', missing: ['a'] }),
    {
      name: 'g',
      included_tools: ['a'],
      included_servers: [],
      excluded_tools: []
    }
  )
  assert.deepEqual(normalise('client', { name: 'c', access_token_ref: {} }), { name: 'c', allowed_servers: [] })
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }
  const keys = normalise('client', { name: 'c', jwks: { keys: [{ ...key, x5c: ['certificate'] }] }, jwks_uri: '' })
  assert.deepEqual(keys, { name: 'c', allowed_servers: [], jwks: { keys: [key] } })
})

test('CR-F5: the switch for unannounced PKCE is configuration, and false is the same as absent', () => {
  const server = { name: 's', transport: 'streamable_http', url: 'http://u/' }
  const strict = normalise('server', server)
  assert.deepEqual(normalise('server', { ...server, oauth_assume_pkce: false }), strict, 'false')
  assert.deepEqual(
    normalise('server', { ...server, oauth_assume_pkce: true }),
    { ...strict, oauth_assume_pkce: true },
    'true'
  )
})

test('switched-off apps and trusted annotations are configuration of every transport, and the default is the same as absent', () => {
  for (const server of [
    { name: 's', transport: 'stdio', command: 'x' },
    { name: 's', transport: 'sse', url: 'http://u/' }
  ]) {
    const usual = normalise('server', server)
    assert.deepEqual(normalise('server', { ...server, apps: true }), usual)
    assert.deepEqual(normalise('server', { ...server, apps: false }), { ...usual, apps: false })
    const trusted = { ...usual, trusted_annotations: true }
    assert.deepEqual(normalise('server', { ...server, trusted_annotations: true }), trusted)
    assert.deepEqual(normalise('server', { ...server, trusted_annotations: false }), usual)
  }
})

test('a change says what it does, and masks secrets', () => {
  assert.equal(diffResource('user', 'u', { name: 'u' }, { name: 'u' }), undefined)
  assert.equal(diffResource('user', 'u', undefined, { name: 'u' })!.action, 'create')
  assert.equal(diffResource('user', 'u', { name: 'u' })!.action, 'delete')
  const { action, difference } = diffResource('server', 's', { bearer_token: 'a' }, { bearer_token: 'b' })!
  assert.deepEqual(
    [action, difference.changed, difference.before],
    ['update', ['bearer_token'], { bearer_token: '***' }]
  )
})

const record = {
  name: 's',
  enabled: true,
  tools: { a: true, b: false },
  prompts: {},
  resources: { 'x://y': false },
  templates: {}
}

test('switches are no part of a registration, and a file that has none says nothing about them', () => {
  const plain = { value: { name: 's' }, from: 'f' }
  assert.deepEqual(splitSwitches(plain), { input: plain })
  const { input, switches } = splitSwitches({ value: { name: 's', disabled_tools: ['b', 'b'] }, from: 'f' })
  assert.deepEqual(input.value, { name: 's' })
  assert.deepEqual(switches, {
    enabled: true,
    disabled_tools: ['b'],
    disabled_prompts: [],
    disabled_resources: [],
    disabled_templates: [],
    disabled_skills: []
  })
  for (const value of [{ enabled: 1 }, { disabled_tools: 'b' }, { disabled_prompts: [1] }])
    assert.throws(
      () => splitSwitches({ value, from: 'f' }),
      (error: Failure) => error.exitCode === 2
    )
})

test('only switches that differ are set; what is not offered is told, and is no difference', () => {
  const wanted = splitSwitches({ value: switchMembers(record), from: 'f' }).switches!
  assert.deepEqual(switchMembers(record), { enabled: true, disabled_tools: ['b'], disabled_resources: ['x://y'] })
  assert.deepEqual(switchPatch(wanted, record), { patch: undefined, unknown: [] })
  const other = { ...wanted, enabled: false, disabled_tools: ['gone', 'a'] }
  assert.deepEqual(switchPatch(other, record), {
    patch: { enabled: false, tools: { a: false, b: true } },
    unknown: ['tool gone']
  })
  const reordered = { ...wanted, disabled_tools: ['gone', 'b'] }
  assert.deepEqual(currentSwitches(reordered, record), reordered)
  assert.deepEqual(currentSwitches(other, record).disabled_tools, ['b'])
})

test('a name like any other may be a switch', () => {
  const odd = { ...record, tools: JSON.parse('{"__proto__": true, "constructor": false}') as Record<string, boolean> }
  assert.deepEqual(switchMembers(odd).disabled_tools, ['constructor'])
  const wanted = splitSwitches({ value: { disabled_tools: ['__proto__'], disabled_resources: ['x://y'] }, from: 'f' })
  const { patch, unknown } = switchPatch(wanted.switches!, odd)
  assert.deepEqual(unknown, [])
  assert.equal(JSON.stringify(patch), '{"tools":{"__proto__":false,"constructor":true}}')
})

test('several failures end with the code that they share, else with the general one', () => {
  assert.deepEqual(
    [
      combineExitCodes([]),
      combineExitCodes([{ exitCode: 5 }, { exitCode: 5 }]),
      combineExitCodes([{ exitCode: 5 }, { exitCode: 2 }])
    ],
    [0, 5, 1]
  )
})
