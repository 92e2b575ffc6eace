import { isObject } from '../../domain/is-object.ts'
import { JsonError, members, stringOf, valueOf } from '../../json/json.ts'
import type { OutgoingRequest, UpstreamAnswer } from '../../upstream/transport/call.ts'
import type { Payload } from '../../json/payload.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'
import { canRequest } from '../messages/capabilities.ts'
import { isInputRequired, MAX_INPUT_REQUESTS } from '../messages/server-attribution.ts'
import type { CallSink } from './call-sink.ts'

/** Limit of input rounds per call (mcp-proxy.md#asking-the-client). */
export const MAX_INPUT_ROUNDS = 8

interface InputRequest {
  readonly key: string
  readonly method: string
  /** JSON text. */
  readonly params: string
}

/** An `input_required` result of a modern upstream. */
interface InputRequiredResult {
  readonly requests: readonly InputRequest[]
  /** JSON text of `requestState`, undefined if absent. */
  readonly state: string | undefined
}

function readRequest(text: string, key: string, start: number): InputRequest {
  const found = members(text, start)
  const method = stringOf(text, found, 'method')
  if (method === undefined) throw badResponse('the upstream asked for input without naming any')
  return { key, method, params: valueOf(text, found, 'params') ?? '{}' }
}

/** Parses an `input_required` result; undefined for any other answer. Throws UpstreamFailure. */
function readInputRequired({ answer, era }: UpstreamAnswer): InputRequiredResult | undefined {
  if (era !== 'modern' || answer.kind !== 'result') return undefined
  try {
    if (!isInputRequired(answer.body)) return undefined
    const text = answer.body.toString()
    const found = members(text)
    const inputRequests = found.find(({ key }) => key === 'inputRequests')
    const entries = inputRequests ? members(text, inputRequests.start) : []
    if (entries.length > MAX_INPUT_REQUESTS) throw badResponse('the upstream asked for too much input at once')
    const requests = entries.map(({ key, start }) => readRequest(text, key, start))
    return { requests, state: valueOf(text, found, 'requestState') }
  } catch (error) {
    if (error instanceof JsonError || error instanceof SyntaxError)
      throw badResponse('the upstream sent malformed JSON')
    throw error
  }
}

/** Thrown if the client refuses to answer; its code and message become the call's error. */
export class InputRefusedError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'InputRefused'
    this.code = code
  }
}

function refusal(body: Payload): InputRefusedError {
  const error: unknown = JSON.parse(body.toString())
  const { code, message } = isObject(error) ? error : {}
  return new InputRefusedError(
    typeof code === 'number' ? code : -32603,
    typeof message === 'string' ? message : 'the client refused to answer'
  )
}

async function answerOf(sink: CallSink, { key, method, params }: InputRequest): Promise<string> {
  if (!canRequest(sink.capabilities, method, params))
    throw badResponse('the upstream asked for input that the client does not support')
  const { kind, body } = await sink.request(method, params)
  if (kind === 'error') throw refusal(body)
  return `${JSON.stringify(key)}:${body.toString()}`
}

/**
 * Returns the client's answers as JSON members. No upstream call is active between rounds, so a cancellation closes the
 * sink instead.
 */
async function askClient(sink: CallSink, requests: readonly InputRequest[]): Promise<string> {
  const call = sink.call!
  call.onStop = () => sink.close()
  try {
    const answers = await Promise.all(requests.map((inputRequests) => answerOf(sink, inputRequests)))
    if (!call.stopped) return answers.join(',')
  } catch (error) {
    if (!call.stopped) throw error
  }
  throw call.stopped
}

/**
 * Bridges a legacy caller and a modern upstream (mcp-proxy.md#asking-the-client): each input request becomes a request
 * to the client, and the call is repeated with the answers. Rejects with UpstreamFailure or InputRefusedError.
 */
export async function runInputRounds(
  first: UpstreamAnswer,
  sink: CallSink,
  request: OutgoingRequest,
  send: (request: OutgoingRequest) => Promise<UpstreamAnswer>
): Promise<UpstreamAnswer> {
  let forwarded = first
  for (let round = 0; ; round++) {
    const required = readInputRequired(forwarded)
    if (!required) return forwarded
    if (round === MAX_INPUT_ROUNDS) throw badResponse('the upstream asked for input too often')
    const parts = [request.members, `"inputResponses":{${await askClient(sink, required.requests)}}`]
    if (required.state !== undefined) parts.push(`"requestState":${required.state}`)
    forwarded = await send({ ...request, members: parts.join(',') })
  }
}
