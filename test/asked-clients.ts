import type { TestContext } from 'node:test'
import {
  Client as Client2,
  StreamableHTTPClientTransport as HttpTransport2,
  type Transport as Transport2
} from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { addCleanup } from './store.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
type Params = any

type RequestHandler = (params: Params) => object | Promise<object>

/** Capabilities of a client and its answers to server requests. An absent member is not declared. */
export interface Answers {
  readonly sampling?: RequestHandler
  readonly form?: RequestHandler
  readonly url?: RequestHandler
  readonly roots?: RequestHandler
}

export interface ServerRequest {
  readonly method: string
  readonly params: Params
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { progress: number }) => void
}

/** An SDK client that records the server requests it receives. */
export interface RecordingClient {
  readonly serverRequests: readonly ServerRequest[]
  /** The SDK's client, for methods that both SDKs share. */
  readonly client: Client1 | Client2
  call(name: string, args?: object, options?: CallOptions): Promise<{ content: { text: string }[]; isError?: boolean }>
}

const identity = { name: 'asked', version: '1' }

const capabilitiesOf = ({ sampling, form, url, roots }: Answers) => ({
  ...(sampling && { sampling: {} }),
  ...((form ?? url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
  ...(roots && { roots: {} })
})

/** Returns handlers by method and mode that record each server request before they answer it. */
function createHandlers(answers: Answers, serverRequests: ServerRequest[]) {
  return async ({ method, params }: { method: string; params?: Params }): Promise<Params> => {
    serverRequests.push({ method, params })
    const elicit = params?.mode === 'url' ? answers.url : answers.form
    const answer = { 'sampling/createMessage': answers.sampling, 'roots/list': answers.roots }[method] ?? elicit
    return answer!(params)
  }
}

/** Connects a client for revisions up to 2025-11-25, over the given transport or over HTTP. */
export async function connectLegacy(
  t: TestContext,
  to: string | Transport,
  answers: Answers
): Promise<RecordingClient> {
  const serverRequests: ServerRequest[] = []
  const answer = createHandlers(answers, serverRequests)
  const client = new Client1(identity, { capabilities: capabilitiesOf(answers) })
  if (answers.sampling) client.setRequestHandler(CreateMessageRequestSchema, answer)
  if (answers.form ?? answers.url) client.setRequestHandler(ElicitRequestSchema, answer)
  if (answers.roots) client.setRequestHandler(ListRootsRequestSchema, answer)
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {})
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(typeof to === 'string' ? (new HttpTransport1(new URL(to)) as Transport) : to)
  addCleanup(t, () => client.close())
  const call = (name: string, args: object = {}, options: CallOptions = {}) =>
    client.callTool({ name, arguments: { ...args } }, undefined, options) as Promise<Params>
  return { serverRequests, client, call }
}

/** Connects a client for 2026-07-28, or for the revision that it negotiates, over the given transport or over HTTP. */
export async function connectModern(
  t: TestContext,
  to: string | Transport2,
  answers: Answers,
  mode: 'auto' | { pin: string } = { pin: '2026-07-28' }
): Promise<RecordingClient> {
  const serverRequests: ServerRequest[] = []
  const answer = createHandlers(answers, serverRequests)
  const client = new Client2(identity, {
    capabilities: capabilitiesOf(answers),
    versionNegotiation: { mode }
  })
  if (answers.sampling) client.setRequestHandler('sampling/createMessage', answer)
  if (answers.form ?? answers.url) client.setRequestHandler('elicitation/create', answer)
  if (answers.roots) client.setRequestHandler('roots/list', answer)
  await client.connect(typeof to === 'string' ? new HttpTransport2(new URL(to)) : to)
  addCleanup(t, () => client.close())
  const call = (name: string, args: object = {}, options: CallOptions = {}) =>
    client.callTool({ name, arguments: { ...args } }, options) as Promise<Params>
  return { serverRequests, client, call }
}

/** Returns answers that contain the client's name, so that a mix-up is detected. */
export const answersOf = (who: string): Required<Answers> => ({
  sampling: () => ({ role: 'assistant', model: who, content: { type: 'text', text: `sampled by ${who}` } }),
  form: ({ requestedSchema }) => ({
    action: 'accept',
    content: Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, who]))
  }),
  url: () => ({ action: 'accept' }),
  roots: () => ({ roots: [{ uri: `file:///${who}`, name: who }] })
})
