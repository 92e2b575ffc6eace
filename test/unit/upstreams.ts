import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { joinObservers } from '../../src/observe/observation.ts'
import { Call, silentSink, type Answer, type OutgoingRequest, type Sink } from '../../src/upstream/transport/call.ts'
import type { TransportClient } from '../../src/upstream/transport/connection.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import type { Negotiation } from '../../src/registry/model/model.ts'
import { connector } from '../egress.ts'
import { legacyNegotiation } from './stored.ts'

export const sessionNegotiation: Negotiation = { ...legacyNegotiation, hasSessions: true }
export const dualNegotiation: Negotiation = { ...sessionNegotiation, modern: '2026-07-28' }

export const noSpares = {
  maxSize: 0,
  spareIdleMs: 60_000,
  runInTurn: (work: () => Promise<void>) => work(),
  onChange() {}
}

/** Common options of upstreams in tests: a server with sessions, no spares, no watchers. */
export const defaultOptions = {
  negotiation: sessionNegotiation,
  processSlots: undefined,
  observer: joinObservers([]),
  connectMs: 2_000,
  sessionIdleMs: 60_000,
  sparePool: noSpares,
  callTimeoutMs: 5_000,
  callTotalMs: 10_000,
  redact: (text: string) => text,
  onNotification() {}
} as const

/** Returns the transport to a fixture, with a count of the connections it opened. */
export function countingClient(url: string): TransportClient & { readonly opened: () => number } {
  const client = createHttpClient({
    url,
    headers: {},
    version: '1',
    connector,
    maxResponseBytes: 1_000_000
  })
  let opened = 0
  return {
    open(options) {
      opened++
      return client.open(options)
    },
    close: () => client.close(),
    opened: () => opened
  }
}

export const toolCall = (name: string, args: object = {}): OutgoingRequest => ({
  method: 'tools/call',
  members: `"name":${JSON.stringify(name)},"arguments":${JSON.stringify(args)}`,
  meta: '',
  name
})
export const newCall = (name = 'echo', args: object = {}, sink: Sink = silentSink) =>
  new Call(toolCall(name, args), sink)

export const textOf = ({ body }: Answer): string =>
  (JSON.parse(body.toString()) as { content: { text: string }[] }).content[0]!.text

export const cancelled = () => new UpstreamFailure('cancelled', 'the caller has disconnected')

export async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const error = await work.then(
    () => assert.fail('did not fail'),
    (reason: unknown) => reason
  )
  assert.ok(error instanceof UpstreamFailure, String(error))
  return error
}

/** Closes everything after the test; fixtures are closed last, after their clients. */
export function closeAfter(t: TestContext, ...things: { close(): unknown }[]): void {
  t.after(async () => {
    for (const thing of things) await thing.close()
  })
}
