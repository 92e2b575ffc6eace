import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQuotas } from '../../src/lib/quota.ts'
import type { StoredServer } from '../../src/registry/model/model.ts'
import { createTaskStreams } from '../../src/upstream/task-streams.ts'

/** Streams to a server that never answers. */
function createStreams(mode: 'development' | 'enterprise') {
  const open = new Set<object>()
  const streams = createTaskStreams({
    createClient() {
      let end = () => {}
      const client = {
        open: () => new Promise<never>((_resolve, reject) => (end = () => reject(new Error('closed')))),
        close() {
          open.delete(client)
          end()
        }
      }
      open.add(client)
      return client as never
    },
    connectMs: 1_000,
    quotas: createQuotas(mode)
  })
  const server = { id: 's', transport: 'streamable_http' } as StoredServer
  const listen = (caller: string) =>
    streams.open(server, { caller, capabilities: '{}', taskIds: ['x'], notify: () => {} })
  return { open, streams, listen }
}

test('in enterprise mode a client has a quarter of the streams with tasks, and what it closes is free again', async () => {
  const { open, streams, listen } = createStreams('enterprise')
  const greedy = Array.from({ length: 400 }, () => listen('greedy'))
  assert.equal(open.size, 250)
  assert.deepEqual(await greedy.at(-1)!.acknowledged, [])
  for (let i = 0; i < 10; i++) listen('modest')
  assert.equal(open.size, 260)
  for (const stream of greedy.slice(0, 5)) {
    stream.close()
    stream.close()
  }
  assert.equal(open.size, 255)
  for (let i = 0; i < 10; i++) listen('greedy')
  assert.equal(open.size, 260)
  streams.close()
  assert.equal(open.size, 0)
  listen('greedy')
  assert.equal(open.size, 1)
  streams.close()
})

test('in development mode all callers together have all streams with tasks', () => {
  const { open, streams, listen } = createStreams('development')
  for (let i = 0; i < 1_100; i++) listen('x')
  assert.equal(open.size, 1_000)
  streams.close()
})
