import type { TestContext } from 'node:test'
import { legacyBody, openStream, type OpenStream, type RpcAnswer } from '../integration/mcp-helpers.ts'
import { until } from '../until.ts'

/** A client of the HTTP+SSE transport. */
export interface EventClient {
  readonly stream: OpenStream
  /** Path with the session id for POST requests. */
  readonly messagePath: string
  request(method: string, params?: object): Promise<RpcAnswer>
}

/** Opens the stream at `path` and performs `initialize`. */
export async function openEventClient(
  t: TestContext,
  url: string,
  path: string,
  headers: Record<string, string>
): Promise<EventClient> {
  const stream = await openStream(t, url + path, { headers: { accept: 'text/event-stream', ...headers } })
  const messagePath = (await until('the stream to name its message path', stream.messagePath))!
  let lastId = 0
  const request = async (method: string, params?: object): Promise<RpcAnswer> => {
    const id = ++lastId
    const posted = await fetch(url + messagePath, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: legacyBody(method, params, id)
    })
    await posted.text()
    return until(`the answer to ${method}`, () =>
      stream.messages.find((answer) => answer.id === id)
    ) as Promise<RpcAnswer>
  }
  const clientInfo = { name: 'test', version: '1' }
  await request('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
  return { stream, messagePath, request }
}
