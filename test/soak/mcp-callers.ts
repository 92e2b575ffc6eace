import { setTimeout as delay } from 'node:timers/promises'
import { modernBody, modernHeaders } from '../integration/mcp-helpers.ts'
import { ask, count, repeat, type Headers, type Reply, type World } from './world.ts'

const rpc = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method, params })
const clientInfo = { name: 'soak', version: '1' }
const opening = (protocolVersion: string) => rpc(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo })

/**
 * Counts a result with the caller's own text as a success, an error explained by a fault as refused, and everything
 * else as lost.
 */
function judge({ tally }: World, kind: string, text: string, own: string): void {
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text
  const message = JSON.parse(data) as { result?: object; error?: object }
  if (message.result !== undefined && data.includes(own)) tally.recordAnswer(kind)
  else if (message.error !== undefined) tally.recordRefusal(kind)
  else tally.recordLoss(kind, `not mine: ${data}`)
}

const judgeReply = (world: World, kind: string, reply: Reply, own: string) =>
  reply.status === 200 ? judge(world, kind, reply.text, own) : void count(world, kind, reply)

export const modern = (world: World, caller: number) =>
  repeat(world, 'modern call', 60, async (round) => {
    const own = `modern ${caller} ${round} ${'x'.repeat(round % 2_000)}`
    const body = modernBody('tools/call', { name: 'alpha__echo', arguments: { own } })
    const headers = { ...world.client, ...modernHeaders('tools/call', 'alpha__echo') }
    judgeReply(world, 'modern call', await ask(world, 'POST', '/mcp', headers, body), own)
  })

/** Opens a stream, read until `stop`. Returns the text received so far. */
async function listen(world: World, path: string, init: RequestInit, stop: AbortController) {
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)])
  const response = await fetch(world.url + path, { ...init, signal })
  let heard = ''
  const read = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) heard += chunk
  }
  const done = read().catch(() => {})
  return { status: response.status, heard: () => heard, done }
}

async function waitForNotification(what: () => string, pattern: RegExp): Promise<RegExpExecArray | null> {
  const end = performance.now() + 20_000
  while (performance.now() < end) {
    const found = pattern.exec(what())
    if (found) return found
    await delay(10)
  }
  return null
}

/** A session with an open stream and some calls; every fifth client disconnects without ending it. */
export const legacy = (world: World, caller: number) =>
  repeat(world, 'legacy session', 200, async (round) => {
    const opened = await ask(world, 'POST', '/mcp', world.client, opening('2025-11-25'))
    const id = opened.headers.get('mcp-session-id')
    if (!count(world, 'legacy session', opened, 200) || id === null) return
    const session: Headers = { ...world.client, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
    const stop = new AbortController()
    const stream = await listen(world, '/mcp', { headers: { ...session, accept: 'text/event-stream' } }, stop)
    for (let call = 1; call <= 5; call++) {
      const own = `legacy ${caller} ${round} ${call}`
      const body = rpc(call, 'tools/call', { name: 'alpha__echo', arguments: { own } })
      judgeReply(world, 'legacy call', await ask(world, 'POST', '/mcp', session, body), own)
    }
    stop.abort()
    await stream.done
    if (round % 5 !== 0) count(world, 'legacy end', await ask(world, 'DELETE', '/mcp', session), 200, 204)
  })

/** The transport of 2024-11-05: responses arrive on the stream. */
export const sse = (world: World, caller: number) =>
  repeat(world, 'sse call', 200, async (round) => {
    const stop = new AbortController()
    const stream = await listen(world, '/sse', { headers: { ...world.client, accept: 'text/event-stream' } }, stop)
    try {
      if (stream.status !== 200) return void count(world, 'sse call', { ...stream, headers: new Headers(), text: '' })
      const place = (await waitForNotification(stream.heard, /^data: (\/message\S+)$/m))?.[1]
      if (place === undefined) return world.tally.recordLoss('sse call', `no endpoint in ${stream.heard()}`)
      await ask(world, 'POST', place, world.client, opening('2024-11-05'))
      const own = `sse ${caller} ${round}`
      const sent = await ask(
        world,
        'POST',
        place,
        world.client,
        rpc(7, 'tools/call', { name: 'alpha__echo', arguments: { own } })
      )
      if (sent.status !== 202) return void count(world, 'sse call', sent)
      const answer = await waitForNotification(stream.heard, /^data: (\{.*"id":7[,}].*)$/m)
      if (answer) judge(world, 'sse call', answer[1]!, own)
      else world.tally.recordLoss('sse call', `no answer in ${stream.heard()}`)
    } finally {
      stop.abort()
      await stream.done
    }
  })

/** A modern subscriber that waits for the acknowledgement, stays a while and disconnects. */
export const subscriber = (world: World) =>
  repeat(world, 'subscription', 100, async (round) => {
    const stop = new AbortController()
    const body = modernBody('subscriptions/listen', { notifications: { toolsListChanged: true } }, round)
    const headers = { ...world.client, ...modernHeaders('subscriptions/listen') }
    const stream = await listen(world, '/mcp', { method: 'POST', headers, body }, stop)
    if (stream.status !== 200) count(world, 'subscription', { ...stream, headers: new Headers(), text: stream.heard() })
    else if (await waitForNotification(stream.heard, /acknowledged/)) world.tally.recordAnswer('subscription')
    else world.tally.recordLoss('subscription', stream.heard())
    await delay(500)
    stop.abort()
    await stream.done
  })
