import { basename } from 'node:path'
import type { Connection, SessionRequestHandler, OpenOptions, TransportClient } from '../transport/connection.ts'
import { UpstreamFailure, withProgram } from '../../protocol/upstream-failure.ts'
import { clientInfo, discover, initialize } from '../transport/handshake.ts'
import { createJsonRpcPeer } from '../transport/jsonrpc-peer.ts'
import type { MessageScreen } from '../transport/result-secrets.ts'
import { programVersion } from './command.ts'
import { nonEmptyLines } from './stderr.ts'
import { startProcess } from './process.ts'
import type { ProcessSettings, StdioProcess } from './process.ts'

export interface StdioOptions extends ProcessSettings {
  /** Gateway version, sent to the server with the product name. */
  readonly version: string
  /** Searches each message for secrets. Default: no search. */
  readonly screen?: MessageScreen | null
}

/** A connection to its own process. */
export interface StdioConnection extends Connection {
  readonly pid: number
  /** Answers requests of the server while no call is in flight; null: error -32601. */
  onRequest: SessionRequestHandler | null
  /** Resolves when no process of the tree is left, at the latest some six seconds after `close`. */
  readonly ended: Promise<void>
}

export interface StdioClient extends TransportClient {
  /**
   * Starts a process and completes the handshake: `initialize` in the legacy era, `server/discover` in the modern one.
   * Rejects with UpstreamFailure: `unreachable` if the command cannot be started, `crashed`, `timeout`, or
   * `bad_response` if the server does not speak that era; the process is then ended in the background.
   */
  open(options: OpenOptions): Promise<StdioConnection>
}

const closedFailure = () => new UpstreamFailure('cancelled', 'the connection was closed')
const exitedFailure = () => new UpstreamFailure('crashed', 'the process has exited', { maybeProcessed: false })

/**
 * Opens one connection. `onOpened` receives its close function once a process runs, `onEnd` is called when it has
 * ended.
 */
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
    isShared: options.isShared,
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
    { ...settings, requester: timings?.requester ?? settings.requester },
    { onLine: (line) => peer.receive(line), onEnd: end }
  )
  if (timings) timings.ended = child.ended
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
    const stderr = child.stderr()
    if (timings) timings.stderr = stderr
    close()
    if (!(error instanceof UpstreamFailure)) throw error
    throw withProgram(error, { command: basename(settings.command), stderr: nonEmptyLines(stderr) })
  }
}

/**
 * Creates the client of a server that runs as a child process (mcp-proxy.md#upstream-negotiation,
 * mcp-proxy.md#upstream-sessions; security-model.md#child-process-isolation).
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
