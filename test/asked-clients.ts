import type { TestContext } from 'node:test'
import { Client as Client2, StreamableHTTPClientTransport as HttpTransport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { later } from './store.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
type Params = any

type Answering = (params: Params) => object | Promise<object>

/** What a client can be asked, and what it answers. What is absent is not declared. */
export interface Answers {
  readonly sampling?: Answering
  readonly form?: Answering
  readonly url?: Answering
  readonly roots?: Answering
}

export interface Question {
  readonly method: string
  readonly params: Params
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { progress: number }) => void
}

/** A client of one of the SDKs that writes down what it is asked. */
export interface AskedClient {
  readonly asked: readonly Question[]
  /** The SDK's own, for what both have in the same words. */
  readonly client: Client1 | Client2
  call(name: string, args?: object, options?: CallOptions): Promise<{ content: { text: string }[]; isError?: boolean }>
}

const identity = { name: 'asked', version: '1' }

const capabilitiesOf = ({ sampling, form, url, roots }: Answers) => ({
  ...(sampling && { sampling: {} }),
  ...((form ?? url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
  ...(roots && { roots: {} })
})

/** Answers by method and mode, each question written down first. */
function answering(answers: Answers, asked: Question[]) {
  return async ({ method, params }: { method: string; params?: Params }): Promise<Params> => {
    asked.push({ method, params })
    const elicit = params?.mode === 'url' ? answers.url : answers.form
    const answer = { 'sampling/createMessage': answers.sampling, 'roots/list': answers.roots }[method] ?? elicit
    return answer!(params)
  }
}

/** A client up to 2025-11-25, over the transport given or over HTTP. */
export async function connectLegacy(t: TestContext, to: string | Transport, answers: Answers): Promise<AskedClient> {
  const asked: Question[] = []
  const answer = answering(answers, asked)
  const client = new Client1(identity, { capabilities: capabilitiesOf(answers) })
  if (answers.sampling) client.setRequestHandler(CreateMessageRequestSchema, answer)
  if (answers.form ?? answers.url) client.setRequestHandler(ElicitRequestSchema, answer)
  if (answers.roots) client.setRequestHandler(ListRootsRequestSchema, answer)
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {})
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(typeof to === 'string' ? (new HttpTransport1(new URL(to)) as Transport) : to)
  later(t, () => client.close())
  const call = (name: string, args: object = {}, options: CallOptions = {}) =>
    client.callTool({ name, arguments: { ...args } }, undefined, options) as Promise<Params>
  return { asked, client, call }
}

/** A client of 2026-07-28, or of what it finds out that the server speaks. */
export async function connectModern(
  t: TestContext,
  url: string,
  answers: Answers,
  mode: 'auto' | { pin: string } = { pin: '2026-07-28' }
): Promise<AskedClient> {
  const asked: Question[] = []
  const answer = answering(answers, asked)
  const client = new Client2(identity, {
    capabilities: capabilitiesOf(answers),
    versionNegotiation: { mode }
  })
  if (answers.sampling) client.setRequestHandler('sampling/createMessage', answer)
  if (answers.form ?? answers.url) client.setRequestHandler('elicitation/create', answer)
  if (answers.roots) client.setRequestHandler('roots/list', answer)
  await client.connect(new HttpTransport2(new URL(url)))
  later(t, () => client.close())
  const call = (name: string, args: object = {}, options: CallOptions = {}) =>
    client.callTool({ name, arguments: { ...args } }, options) as Promise<Params>
  return { asked, client, call }
}

/** Says who answers, so that a mix-up shows. */
export const answersOf = (who: string): Required<Answers> => ({
  sampling: () => ({ role: 'assistant', model: who, content: { type: 'text', text: `sampled by ${who}` } }),
  form: ({ requestedSchema }) => ({
    action: 'accept',
    content: Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, who]))
  }),
  url: () => ({ action: 'accept' }),
  roots: () => ({ roots: [{ uri: `file:///${who}`, name: who }] })
})
