import { setTimeout as delay } from 'node:timers/promises'
import { META } from '../../domain/mcp-constants.ts'
import { eachElement } from '../../json/json.ts'
import {
  codes,
  decode,
  idText,
  isBatch,
  parseStructure,
  ProtocolError,
  readMessage,
  type Message
} from '../../protocol/jsonrpc.ts'
import { errorText } from '../../protocol/jsonrpc-text.ts'
import type { BridgeContext } from './context.ts'
import { EndpointFailure } from './endpoint-failure.ts'
import { createLegacySession } from './legacy-session.ts'
import { createModernRequests, LISTEN } from './modern-requests.ts'
import { OpenRequests } from './open-requests.ts'

/** Messages in progress, and their bytes, past which new ones are refused. */
const MAX_IN_PROGRESS = 1_000
const MAX_BYTES_IN_PROGRESS = 256 * 1024 * 1024
/** A cancellation is sent again while its call goes on: on its own connection it may overtake the call. */
const CANCELLATIONS = 3
const CANCELLATION_MS = 300

const VERSION_KEY = `${META}protocolVersion`
/** The gateway has its own, smaller limits. */
const limits = { depth: 1_000, elements: Infinity }

/** Carries the messages of one MCP client to the gateway, and those of the gateway to the client. */
export interface Bridge {
  /** Takes a line of the client. */
  receive(line: Buffer): void
  /** Waits for the responses to requests in progress, for `ms` at most. Subscriptions end at once. */
  finish(ms: number): Promise<void>
  /** Ends requests in progress and, within `ms`, the session. */
  stop(ms: number): Promise<void>
}

interface Work {
  readonly open: OpenRequests
  /** Ends a request of 2026-07-28. Undefined for other messages. */
  readonly controller: AbortController | undefined
  readonly isSubscription: boolean
  readonly bytes: number
  done: Promise<void>
}

/** `stop` must abort the context's `stopped`. */
export function createBridge(context: BridgeContext, abort: () => void): Bridge {
  const { output, log, stopped } = context
  const legacy = createLegacySession(context)
  const modern = createModernRequests(context)
  const inProgress = new Set<Work>()
  /** By JSON text of the id. */
  const requests = new Map<string, Work>()
  let bytesInProgress = 0

  /** Runs work with a message until its response, and answers its requests if that fails. */
  const start = (
    body: Buffer,
    ids: readonly string[],
    {
      batch = false,
      controller,
      subscription = false
    }: { batch?: boolean; controller?: AbortController; subscription?: boolean },
    run: (open: OpenRequests) => Promise<void>
  ): void => {
    const open = new OpenRequests(ids, batch)
    const work: Work = { open, controller, isSubscription: subscription, bytes: body.length, done: Promise.resolve() }
    inProgress.add(work)
    bytesInProgress += body.length
    for (const id of ids) requests.set(id, work)
    work.done = run(open)
      .catch((error: unknown) => report(context, open, error))
      .catch((error: unknown) => log(error instanceof Error ? (error.stack ?? error.message) : String(error)))
      .finally(() => {
        inProgress.delete(work)
        bytesInProgress -= body.length
        for (const id of ids) if (requests.get(id) === work) requests.delete(id)
      })
  }

  const sendCancellation = async (message: Message, body: Buffer, work: Work | undefined) => {
    for (let sent = 0; sent < CANCELLATIONS && (!work || inProgress.has(work) || sent === 0); sent++) {
      await legacy.notify(message, body)
      if (!work) return
      await Promise.race([work.done, delay(CANCELLATION_MS, undefined, { signal: stopped, ref: false })])
    }
  }

  const cancel = (message: Message, body: Buffer): void => {
    const id = idText(message.text, message.paramMembers, 'requestId', message.param('requestId'))
    const work = requests.get(id)
    work?.open.cancel(id)
    if (work?.controller) work.controller.abort()
    else if (message.meta(VERSION_KEY) === undefined) start(body, [], {}, () => sendCancellation(message, body, work))
  }

  /** Only requests are refused: responses and notifications may be what requests in progress wait for. */
  const checkRoom = (body: Buffer, id?: string): void => {
    if (inProgress.size < MAX_IN_PROGRESS && bytesInProgress + body.length <= MAX_BYTES_IN_PROGRESS) return
    const options = id === undefined ? {} : { id }
    throw new ProtocolError(codes.internal, 'too many messages are in progress: wait for responses', options)
  }

  const receiveOne = (text: string, body: Buffer): void => {
    const message = readMessage(text, limits)
    const isModern = message.meta(VERSION_KEY) !== undefined
    if (message.kind === 'request') {
      checkRoom(body, message.id)
      if (!isModern) return start(body, [message.id], {}, (open) => legacy.request({ body, message, open }))
      const controller = new AbortController()
      const signal = AbortSignal.any([stopped, controller.signal])
      const subscription = message.method === LISTEN
      return start(body, [message.id], { controller, subscription }, (open) =>
        modern.request({ body, message, open, signal })
      )
    }
    if (message.method === 'notifications/cancelled') return cancel(message, body)
    // the modern revision has no other notifications of clients
    if (!isModern) start(body, [], {}, () => legacy.notify(message, body))
  }

  const receiveBatch = (text: string, body: Buffer): void => {
    checkRoom(body)
    const elements = parseStructure(() => [...eachElement(text)])
    const ids = elements.flatMap(({ start: from, end }) => {
      const { kind, id } = readMessage(text.slice(from, end), limits)
      return kind === 'request' ? [id] : []
    })
    start(body, ids, { batch: true }, (open) => legacy.request({ body, message: undefined, open }))
  }

  return {
    receive(line) {
      try {
        const text = decode(line)
        if (text.trim() === '') return
        if (isBatch(text)) receiveBatch(text, line)
        else receiveOne(text, line)
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        void output.write(errorText(error.id, error.code, error.message))
      }
    },
    async finish(ms) {
      for (const { isSubscription, controller } of inProgress) if (isSubscription) controller?.abort()
      const timeout = new AbortController()
      const rest = Promise.all([...inProgress].map(({ done }) => done))
      await Promise.race([rest, delay(ms, undefined, { signal: AbortSignal.any([stopped, timeout.signal]) })]).catch(
        () => {}
      )
      timeout.abort()
    },
    async stop(ms) {
      abort()
      const end = Promise.all([legacy.end(ms), output.flush()])
      await Promise.race([end, delay(ms, undefined, { ref: false })])
    }
  }
}

/** Answers the requests that are still open with an error. */
async function report({ output, log, stopped }: BridgeContext, open: OpenRequests, error: unknown): Promise<void> {
  if (stopped.aborted || open.isCancelled) return
  if (!(error instanceof EndpointFailure)) throw error
  if (open.isDone) log(error.message)
  for (const text of open.fail(error)) await output.write(text)
}
