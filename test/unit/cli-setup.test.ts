import assert from 'node:assert/strict'
import test from 'node:test'
import { identityOf, mergeServers } from '../../src/cli/setup/merge.ts'
import { parseChoice } from '../../src/cli/setup/setup.ts'
import type { FoundServer } from '../../src/cli/clients/find.ts'
import { CLIENT_PLACES, type FileClient } from '../../src/domain/clients/clients.ts'
import { readEntries } from '../../src/domain/clients/read-entries.ts'
import { importEntry } from '../../src/domain/import/formats.ts'

/** Returns the servers of a client’s first file that holds `mcpServers`. */
function serversOf(client: FileClient, mcpServers: object): FoundServer[] {
  const place = CLIENT_PLACES[client][0]!
  return readEntries(client, place, { mcpServers }).map((entry) => ({
    ...entry,
    client,
    place,
    file: client,
    imported: importEntry(entry, ['http://localhost:8080'])
  }))
}

test('servers are equal by command, arguments and variables, or by address and headers', () => {
  const equal = (a: object, b: object) => identityOf(a) === identityOf(b)
  assert.ok(equal({ url: 'HTTPS://H:443/mcp/#x' }, { url: 'https://h/mcp' }))
  assert.ok(
    equal({ url: 'https://h', bearer_token: 't' }, { url: 'https://h/', headers: { AUTHORIZATION: 'Bearer t' } })
  )
  assert.ok(equal({ command: 'x', env: { A: '1', B: '2' } }, { command: 'x', args: [], env: { B: '2', A: '1' } }))
  assert.ok(!equal({ url: 'https://h/mcp?key=1' }, { url: 'https://h/mcp?key=2' }))
  assert.ok(!equal({ url: 'https://h/mcp', bearer_token: 'a' }, { url: 'https://h/mcp', bearer_token: 'b' }))
  assert.ok(!equal({ command: 'x', env: { A: '1' } }, { command: 'x', env: { A: '2' } }))
  assert.ok(!equal({ command: 'x', args: ['a b'] }, { command: 'x', args: ['a', 'b'] }))
})

test('equal servers of several clients are one, and different ones of the same name get names of their own', () => {
  const found = [
    ...serversOf('claude-code', {
      a: { command: 'x', env: { K: '${K}' } },
      self: { url: 'http://127.0.0.1:8080/mcp' }
    }),
    ...serversOf('cursor', { b: { command: 'x', env: { K: '1' } }, a: { command: 'y' }, c: { url: 'https://h/${N}' } }),
    ...serversOf('windsurf', {
      a: { command: 'y', disabled: true },
      towpath: { url: 'http://old/mcp' },
      d: { command: 'z' }
    })
  ]
  const merged = mergeServers(found, [{ name: 'a-2', transport: 'stdio', command: 'z' }], { K: '1' })
  assert.deepEqual(
    merged.map(({ name, sources, isRegistered, problems }) => [
      name,
      sources.map(({ client }) => client).join(' '),
      isRegistered,
      problems.join()
    ]),
    [
      ['a', 'claude-code cursor', false, ''],
      ['a-3', 'cursor windsurf', false, ''],
      ['c', 'cursor', false, 'N is not set in the environment of this command'],
      ['a-2', 'windsurf', true, '']
    ]
  )
  assert.ok(merged[1]!.isEnabled)
})

test('a choice of servers is a list of numbers and ranges', () => {
  assert.deepEqual(parseChoice('1, 3-4', 4), [1, 3, 4])
  for (const wrong of ['0', '5', '2-1', 'a', '1,,b', '1-99999']) assert.equal(parseChoice(wrong, 4), undefined, wrong)
})
