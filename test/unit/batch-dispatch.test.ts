import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createQuota } from '../../src/lib/quota.ts'
import { cancelRequest, dispatchBatchMessages } from '../../src/mcp/batches/batch-dispatch.ts'
import { ChannelWriter } from '../../src/mcp/sessions/response-writer.ts'
import { createClientSessions, type Session } from '../../src/mcp/sessions/client-sessions.ts'
import { readMessage } from '../../src/protocol/jsonrpc.ts'

const limits = { depth: 10, elements: 100 }
const ping = (id: unknown) => readMessage(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`, limits)
const note = readMessage('{"jsonrpc":"2.0","method":"notifications/initialized"}', limits)

test('a request that waits in a batch is cancelled before it begins, and the others of the batch are answered', async (t) => {
  const options = { key: randomBytes(32), maxSessions: 1, quota: createQuota(Infinity), sessionIdleMs: 60_000 }
  const sessions = createClientSessions({ ...options, announceEnd() {}, onEnd() {} })
  t.after(() => sessions.close())
  const session = sessions.create('ann', '/mcp', '2025-03-26', {}) as Session
  const messages = [ping(1), ping('1'), note, ping(2)]
  const done: string[] = []
  const channel = {
    sendMessage() {},
    finish: ({ id }: ChannelWriter, answer: unknown) => void done.push(`${id} ${answer ? 'answered' : 'ended'}`)
  }
  const writers = messages.map(({ id }) => new ChannelWriter(channel, id))
  const begun: string[] = []
  let pauses = 0
  const slice = {
    isOver: true,
    async next() {
      // the second pause is the one before the request "1"
      if (++pauses === 2) for (const id of ['"1"', '1', '3']) cancelRequest(session, id)
    }
  }
  const dispatch = ({ kind, id }: { kind: string; id: string }, writer: ChannelWriter) => {
    begun.push(`${kind} ${id}`)
    writer.sendResult(id, Buffer.from('{}'))
  }
  await dispatchBatchMessages(messages, writers, session, dispatch, slice)
  assert.deepEqual(begun, ['request 1', `notification ${note.id}`, 'request 2'])
  assert.deepEqual(done, ['1 answered', '"1" ended', `${note.id} answered`, '2 answered'])
  assert.equal(session.queuedRequests!.size, 0)
})
