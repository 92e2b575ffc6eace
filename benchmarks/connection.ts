import { connect, type Socket } from 'node:net'
import type { Target } from './load.ts'
import { answerReader } from './answer-reader.ts'

export interface Connection {
  /**
   * Sends the request and waits for its response. Resolves with an empty string if it is correct, else with a
   * description of the error. Never throws.
   */
  ask(): Promise<string>
}

const FIRST_ID = 10_000_000
const ID_TEXT = `"id":${FIRST_ID}`
/** Longer than any response takes; after this time it counts as lost. */
const LOST_MS = 30_000

/** Opens a keep-alive connection on a raw socket, so that client overhead does not hide the server's cost. */
export function openConnection({ host, port, marker, minBytes }: Target, request: string): Connection {
  const bytes = Buffer.from(request)
  const idAt = bytes.indexOf(ID_TEXT)
  let id = FIRST_ID
  let socket: Socket | undefined
  let settle: ((problem: string) => void) | undefined

  const finish = (problem: string) => {
    const waiting = settle
    settle = undefined
    waiting?.(problem)
  }
  const reader = answerReader(marker, ({ status, bodyBytes, hasMarker, start }) => {
    const isRight = status === 200 && bodyBytes >= minBytes && hasMarker
    finish(isRight ? '' : `${status}, ${bodyBytes} bytes: ${start}`)
  })
  const open = () => {
    const made = connect(port, host).setNoDelay(true)
    reader.reset()
    made.setTimeout(LOST_MS, () => made.destroy())
    made.on('data', (chunk) => reader.read(chunk))
    made.on('error', () => {})
    made.on('close', () => {
      if (socket === made) socket = undefined
      finish('the connection was closed before its answer was complete')
    })
    return made
  }
  return {
    ask: () =>
      new Promise((resolve) => {
        settle = resolve
        if (idAt >= 0) bytes.write(String(id++), idAt + '"id":'.length, 'latin1')
        socket ??= open()
        socket.write(bytes)
      })
  }
}
