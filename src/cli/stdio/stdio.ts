import { concatBuffers } from '../../json/buffer-list.ts'
import { createLineReader } from '../../protocol/lines.ts'
import { codes } from '../../protocol/jsonrpc.ts'
import { errorText } from '../../protocol/jsonrpc-text.ts'
import { mcpPath } from '../../domain/network/mcp-endpoint.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT } from '../io/failure.ts'
import type { Action } from '../io/runner.ts'
import { createBridge } from './bridge.ts'
import { createEndpoint } from './endpoint.ts'
import { createMessageOutput } from './message-output.ts'

interface Flags {
  readonly group?: string
}

/** Limit of one line; the gateway itself accepts 4 MiB by default. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
/** Time for pending responses after stdin has ended. */
const FINISH_MS = 10_000
/** Time for ending the session. */
const STOP_MS = 2_000
const MAX_LOG = 2_000

/** Why the bridge ends. */
type End = 'stdin' | 'stdout' | 'terminated' | 'too long'

/** Reads lines from stdin until the bridge has to end. */
function readLines({ io }: Cli, onLine: (line: Buffer) => void): Promise<End> {
  const { stdin, stdoutClosed } = io
  return new Promise((resolve) => {
    const lines = createLineReader({
      maxBytes: MAX_LINE_BYTES,
      onLine: (line) => onLine(concatBuffers(line)),
      onTooLong: () => resolve('too long')
    })
    stdoutClosed?.addEventListener('abort', () => resolve('stdout'), { once: true })
    io.onTerminate?.(() => resolve('terminated'))
    stdin.on('data', (chunk: Buffer | string) => lines.push(Buffer.from(chunk)))
    stdin.once('error', () => resolve('stdin'))
    stdin.once('end', () => {
      // a last line without its line break
      lines.push(Buffer.from('\n'))
      resolve('stdin')
    })
  })
}

/** Lets an MCP client that can only start commands use the gateway: JSON-RPC lines on stdin and stdout. */
export const stdio: Action<Flags> = async (cli, _args, { group }) => {
  const { io, connection } = cli
  const url = connection.registry + mcpPath(group)
  const stop = new AbortController()
  const output = createMessageOutput(io.stdout, io.stdoutClosed)
  const endpoint = createEndpoint(url, connection, cli.trace)
  const log = (text: string) => cli.warn(escapeText(text, MAX_LOG))
  const bridge = createBridge({ endpoint, output, log, stopped: stop.signal }, () => stop.abort())
  if (io.stdin.isTTY) cli.announce('this command is started by MCP clients; it reads JSON-RPC messages, one per line')
  cli.note(`forwarding MCP messages to ${url}`)
  const end = await readLines(cli, (line) => bridge.receive(line))
  if (end === 'too long') {
    cli.warn(`a line on stdin is longer than ${MAX_LINE_BYTES} bytes`)
    await output.write(errorText('null', codes.invalidRequest, `the message is longer than ${MAX_LINE_BYTES} bytes`))
  }
  if (end === 'stdin' || end === 'too long') await bridge.finish(FINISH_MS)
  await bridge.stop(STOP_MS)
  io.stdin.destroy()
  return end === 'too long' ? EXIT.usage : EXIT.done
}
