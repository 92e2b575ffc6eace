import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { createHeartbeat } from '../../src/mcp/sessions/heartbeat.ts'
import { HttpReply } from '../../src/mcp/sessions/reply.ts'
import { Payload } from '../../src/json/payload.ts'
import { type Answer, Call, silentSink } from '../../src/upstream/transport/call.ts'
import { Exchange, type ExchangeHost } from '../../src/upstream/http/exchange.ts'
import { createJsonRpcPeer } from '../../src/upstream/transport/jsonrpc-peer.ts'
import { createScreen, type MessageScreen } from '../../src/upstream/transport/result-secrets.ts'
import { unlimitedMemory } from '../../src/upstream/transport/memory-quota.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { createReadScheduler } from '../../src/upstream/transport/read-scheduler.ts'

const SIZE = 1_000_000
/** Chunk size of undici. */
const CHUNK = 65_536
const ID = '7'

const texts = {
  'plain text': 'x'.repeat(SIZE),
  'text full of escapes': JSON.stringify(Array.from({ length: SIZE / 40 }, (_, i) => ({ i, name: 'a "b"\n' }))),
  'text beyond ASCII': 'é😀'.repeat(SIZE / 6)
}
const screens: Readonly<Record<string, MessageScreen | null>> = {
  'without a search for secrets': null,
  'searched for secrets': createScreen({ mode: 'redact', secrets: () => ['s3cret-of-the-server'], onFound: () => {} })
}

const cut = (bytes: Buffer) =>
  Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) =>
    // a separate buffer each, as sockets deliver them
    Buffer.from(bytes.subarray(i * CHUNK, (i + 1) * CHUNK))
  )

/** Returns the number of bytes of `pieces` that do not share memory with `given`. */
const copied = (pieces: readonly Uint8Array[], given: readonly Buffer[]): number => {
  const memory = new Set(given.map((each) => each.buffer))
  return pieces.reduce((sum, piece) => sum + (memory.has(piece.buffer as ArrayBuffer) ? 0 : piece.length), 0)
}

const message = (text: string) =>
  Buffer.from(`{"jsonrpc":"2.0","id":${ID},"result":${JSON.stringify({ content: [{ type: 'text', text }] })}}`)

const outgoing = { method: 'tools/call', members: '', meta: '' }

/** Returns the answer that an exchange produces from an HTTP response of this type in these chunks. */
function exchanged(type: string, chunks: readonly Buffer[], screen: MessageScreen | null): Promise<Answer> {
  const ignore = () => {}
  const host: ExchangeHost = {
    isLegacy: true,
    hasSession: false,
    hasCredential: false,
    maxBytes: 10 * SIZE,
    memory: unlimitedMemory,
    screen,
    reads: createReadScheduler().server(),
    reply: ignore,
    cancel: ignore,
    resume: ignore,
    followRedirect: () => false,
    resend: ignore,
    onDropped: ignore,
    onNotification: ignore,
    onSessionLost: ignore,
    onSettled: ignore,
    onEnded: ignore
  }
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(host, new Call(outgoing, silentSink), ID, resolve, reject)
    exchange.onConnect(ignore)
    exchange.onHeaders(200, [Buffer.from('content-type'), Buffer.from(type)])
    for (const chunk of chunks) exchange.onData(chunk)
    exchange.onComplete()
  })
}

for (const [kind, text] of Object.entries(texts)) {
  for (const [how, screen] of Object.entries(screens)) {
    test(`a large result over HTTP is the memory that it came in: ${kind}, ${how}`, async () => {
      const chunks = cut(message(text))
      const { body } = await exchanged('application/json', chunks, screen)
      assert.equal(body.isLarge, true, 'the result is large')
      assert.equal(copied(body.buffers, chunks), 0, 'bytes that were copied')
      // members that the gateway appends to a result do not copy it either
      const told = body.withChanges({}, '"_meta":{"a":1}')
      assert.ok(copied(told.buffers, chunks) < 100, `${copied(told.buffers, chunks)} bytes were copied`)
      assert.deepEqual(JSON.parse(told.toString()).content[0].text.length, text.length, 'the text is whole')
    })

    // larger than the memory that messages are joined in
    for (const times of [1, 5]) {
      test(`a large result in an event is the memory that it came in: ${kind}, ${how}, ${times} MB`, async () => {
        const event = Buffer.concat([Buffer.from('data: '), message(text.repeat(times)), Buffer.from('\n\n')])
        const chunks = cut(event)
        const { body } = await exchanged('text/event-stream', chunks, screen)
        assert.equal(copied(body.buffers, chunks), 0, 'bytes that were copied')
        assert.ok(body.buffers.length <= chunks.length, 'the parts of a chunk are one buffer')
        assert.deepEqual(JSON.parse(body.toString()).content[0].text.length, times * text.length, 'the text is whole')
      })
    }

    test(`a large result in a line is the memory of the line: ${kind}, ${how}`, async () => {
      const line = cut(message(text))
      const peer = createJsonRpcPeer({ write() {}, onNotification() {}, onRequest: () => null, screen })
      for (let id = 1; id < Number(ID); id++) void peer.send(new Call(outgoing, silentSink))
      const answer = peer.send(new Call(outgoing, silentSink))
      assert.equal(complete(peer.receive(line)), true, 'the line is a message')
      assert.equal(copied((await answer).body.buffers, line), 0, 'bytes that were copied')
    })
  }
}

test('a large result is written to the caller from the memory that it came in', async (t) => {
  const chunks = cut(Buffer.from(JSON.stringify({ content: texts['text full of escapes'] })))
  const written: Uint8Array[] = []
  const heartbeat = createHeartbeat()
  const server = createServer((_, response) => {
    const write = response.write.bind(response) as (chunk: unknown) => boolean
    response.write = (chunk: unknown) => {
      written.push(typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array))
      return write(chunk)
    }
    const reply = new HttpReply(response, {
      heartbeat,
      principal: 'ann',
      acceptsStream: true,
      maxBufferedBytes: 10 * SIZE
    })
    reply.sendAnswer(ID, { kind: 'result', body: Payload.ofBuffers(chunks) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    heartbeat.close()
    server.closeAllConnections()
    server.close()
  })
  const [response] = await once(get({ port: (server.address() as AddressInfo).port }), 'response')
  const given = await buffer(response)
  assert.ok(given.includes(Buffer.concat(chunks)), 'the result is whole')
  assert.ok(copied(written, chunks) < 100, `${copied(written, chunks)} bytes were copied`)
})
