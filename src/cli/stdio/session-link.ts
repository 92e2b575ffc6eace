import { isObject } from '../../domain/is-object.ts'
import { listKinds, type ListKind } from '../../domain/mcp-constants.ts'
import { codes, type Message } from '../../protocol/jsonrpc.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { sessionHeaders, type BridgeContext, type SessionKey } from './context.ts'
import { EndpointFailure, parseJson } from './endpoint-failure.ts'
import { discard, readMessages } from './endpoint.ts'
import type { ReceivedMessage } from './open-requests.ts'
import { createSessionStream } from './session-stream.ts'

/** Session at the gateway, which is opened again when it has ended. */
export interface SessionLink {
  current(): SessionKey
  /** Sends a message; if the session has ended, once more in a new one. Resolves with the message of an error. */
  send(body: Buffer, isHandshake: boolean): Promise<Response | Buffer>
  /** Keeps the client's `initialize`, with which the session is opened again. */
  setHandshake(body: Buffer): void
  /** Takes over the session from the response to `initialize`. */
  adopt(response: Response, message: Buffer): void
  /** Opens the stream for messages that belong to no request. */
  listen(): void
  /** Records the state that has to be restored, once the gateway has accepted it. */
  remember(message: Message, body: Buffer, received: ReceivedMessage): void
}

/** State of a session that the gateway keeps in the memory of one process. */
interface LocalState {
  logLevel: Buffer | undefined
  /** Requests by URI. */
  readonly subscriptions: Map<string, Buffer>
}

/** Returns the lists whose changes the gateway announces, according to its answer to `initialize`. */
function announcedLists(result: Record<string, unknown>): ListKind[] {
  const { capabilities } = result
  return listKinds.filter((kind) => {
    const capability = isObject(capabilities) ? capabilities[kind] : undefined
    return isObject(capability) && capability['listChanged'] === true
  })
}

export function createSessionLink(context: BridgeContext): SessionLink {
  const { endpoint, output, log, stopped } = context
  let session: SessionKey = { id: undefined, version: undefined }
  /** The client's `initialize`, with which the session is opened again. */
  let handshake: Buffer | undefined
  let lists: readonly ListKind[] = []
  let isInitialized = false
  let reopening: Promise<void> | undefined
  const local: LocalState = { logLevel: undefined, subscriptions: new Map() }

  const post = (body: Buffer | string, key: SessionKey) =>
    endpoint.send({ method: 'POST', body, headers: sessionHeaders(key), signal: stopped })

  /** Takes over the session from the response to `initialize`. */
  const adopt = (response: Response, message: Buffer): void => {
    const body = parseJson(message.toString())
    const result = isObject(body) && isObject(body['result']) ? body['result'] : undefined
    if (!result) return
    const version = result['protocolVersion']
    session = {
      id: response.headers.get('mcp-session-id') ?? undefined,
      version: typeof version === 'string' ? version : undefined
    }
    lists = announcedLists(result)
  }

  /** Sends a message of an earlier session again; the client does not wait for its response. */
  const replay = async (body: Buffer | string) => {
    const response = await post(body, session)
    if (!response.ok) log(`the gateway answered ${response.status} when the session was restored`)
    await discard(response)
  }

  /** Restores what a restarted gateway forgot, and reports to the client that it may have missed changes. */
  const restore = async (): Promise<void> => {
    for (const body of [...(local.logLevel ? [local.logLevel] : []), ...local.subscriptions.values()])
      await replay(body)
    for (const kind of lists) await output.write(notificationText(`notifications/${kind}/list_changed`))
    for (const uri of local.subscriptions.keys())
      await output.write(notificationText('notifications/resources/updated', JSON.stringify({ uri })))
  }

  const openAgain = async (): Promise<void> => {
    const { version } = session
    const response = await post(handshake!, { id: undefined, version: undefined })
    if (!response.ok) throw (await endpoint.readRefusal(response)).failure
    await readMessages(response, { lastEventId: null, retryMs: null }, async (message) => adopt(response, message))
    if (session.version !== version)
      throw new EndpointFailure('session', 'the gateway now speaks another protocol revision; start this client again')
    log('the session had ended and was opened again; state that servers kept for it is gone')
    if (!isInitialized) return
    await replay(notificationText('notifications/initialized'))
    stream.open(session)
    await restore()
  }

  /** Opens a new session instead of `ended`, unless that has happened already. */
  const reopen = (ended: SessionKey): Promise<void> => {
    if (session !== ended) return Promise.resolve()
    reopening ??= openAgain().finally(() => {
      reopening = undefined
    })
    return reopening
  }

  const stream = createSessionStream(context, { current: () => session, reopen, restore })

  const send = async (body: Buffer, isHandshake: boolean): Promise<Response | Buffer> => {
    for (let attempt = 0; ; attempt++) {
      const used = session
      const response = await post(body, used)
      if (response.ok) return response
      const { message, code, failure } = await endpoint.readRefusal(response)
      const hasEnded = response.status === 404 && code === codes.sessionNotFound
      if (hasEnded && used.id !== undefined && handshake && !isHandshake && attempt === 0) await reopen(used)
      else if (message) return message
      else throw failure
    }
  }

  return {
    current: () => session,
    send,
    setHandshake(body) {
      handshake = body
    },
    adopt,
    listen() {
      isInitialized = true
      stream.open(session)
    },
    remember: (message, body, received) => remember(local, message, body, received)
  }
}

function remember(local: LocalState, message: Message, body: Buffer, { kind }: ReceivedMessage): void {
  if (kind !== 'result') return
  const uri = String(message.param('uri'))
  if (message.method === 'logging/setLevel') local.logLevel = body
  else if (message.method === 'resources/subscribe') local.subscriptions.set(uri, body)
  else if (message.method === 'resources/unsubscribe') local.subscriptions.delete(uri)
}
