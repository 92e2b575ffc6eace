import type { Connection, SessionRequestHandler, OpenOptions, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { clientInfo, discover, initialize } from './peer-opening.ts'
import { createJsonRpcPeer } from './peer.ts'
import type { MessageScreen } from './result-secrets.ts'
import { programVersion } from './stdio-command.ts'
import { startProcess } from './stdio-process.ts'
import type { ProcessSettings, StdioProcess } from './stdio-process.ts'

export interface StdioOptions extends ProcessSettings {
  /** Our version, told to the server beside the product's name. */
  readonly version: string
  /** Looks for secrets in each message. Default: nothing is searched. */
  readonly screen?: MessageScreen | null
}

/** A process of its own per connection. */
export interface StdioConnection extends Connection {
  readonly pid: number
  /** Answers requests of the server that come while no call is under way; null: -32601. */
  onRequest: SessionRequestHandler | null
  /** Resolves when nothing of the process tree is left, some six seconds after `close` at the latest. */
  readonly ended: Promise<void>
}

export interface StdioClient extends TransportClient {
  /**
   * Starts a process and completes the opening: legacy `initialize`, modern `server/discover`. Rejects with
   * UpstreamFailure: `unreachable` where the command cannot be started, `crashed`, `timeout`, `bad_response` where the
   * server does not speak that era; the process is ended in the background then.
   */
  open(options: OpenOptions): Promise<StdioConnection>
}

const closedFailure = () => new UpstreamFailure('cancelled', 'the connection was closed')
const exitedFailure = () => new UpstreamFailure('crashed', 'the process has exited', { maybeProcessed: false })

/** `onOpened` gets the way to close it as soon as a process runs, `onEnd` is called when it carries nothing more. */
async function openConnection(
  settings: StdioOptions,
  options: OpenOptions,
  onOpened: (close: () => void) => void,
  onEnd: (close: () => void) => void
): Promise<StdioConnection> {
  const { era, timings } = options
  const info = clientInfo(settings.version)
  let connection: StdioConnection | undefined
  let isClosed = false

  const peer = createJsonRpcPeer({
    write: (text, refuse) => child.write(text, refuse),
    ...(era === 'modern' ? { modernClientInfo: info } : {}),
    onNotification: (method, params) => connection?.onNotification?.(method, params),
    onRequest: () => connection?.onRequest ?? null,
    memory: settings.memory,
    screen: settings.screen
  })
  const end = (failure: UpstreamFailure) => {
    if (isClosed) return
    isClosed = true
    peer.fail(failure)
    onEnd(close)
    connection?.onClose?.()
  }
  if (timings) timings.startedAt = performance.now()
  const child: StdioProcess = await startProcess(
    { ...settings, by: timings?.requester ?? settings.by },
    { onLine: (line) => peer.receive(line), onEnd: end }
  )
  const close = () => {
    child.close()
    end(closedFailure())
  }
  onOpened(close)

  if (timings) timings.initializeAt = performance.now()
  try {
    const greeting = era === 'modern' ? await discover(peer, options) : await initialize(peer, info, options)
    connection = {
      era,
      greeting,
      pid: child.pid,
      ended: child.ended,
      get closed() {
        return isClosed
      },
      send: (call) => (child.hasExited && !isClosed ? Promise.reject(exitedFailure()) : peer.send(call)),
      notify: (method, params) => peer.notify(method, params),
      stderr: child.stderr,
      close,
      onClose: null,
      onNotification: null,
      onRequest: null
    }
    return connection
  } catch (error) {
    if (timings) timings.stderr = child.stderr()
    close()
    throw error
  }
}

/**
 * Talks to a server that is a child process (mcp-proxy.md#upstream-negotiation, mcp-proxy.md#upstream-sessions;
 * security-model.md#child-process-isolation).
 */
export function createStdioClient(settings: StdioOptions): StdioClient {
  const open = new Set<() => void>()
  let isClosed = false
  return {
    open: (options) =>
      openConnection(
        settings,
        options,
        (close) => {
          open.add(close)
          if (isClosed) close()
        },
        (close) => open.delete(close)
      ),
    get fingerprint() {
      return programVersion(settings.command, settings.args)
    },
    close() {
      isClosed = true
      for (const close of open) close()
    }
  }
}
