import { connect } from 'node:net'
import { readAnswers, type Answer } from './message.ts'

export interface Exchange {
  readonly received: string
  readonly isClosed: boolean
}

const isDone = (answer: Answer) => answer.isComplete || answer.headers.get('content-type') === 'text/event-stream'

function countDone(received: string, methods: readonly string[]): number {
  try {
    return readAnswers(received, methods).filter(isDone).length
  } catch {
    return Infinity
  }
}

export interface Patience {
  /** Number of responses after which the exchange ends. */
  readonly answers: number
  /** Time without a byte after which the exchange ends. */
  readonly quietMs: number
}

/** Sends bytes on a new connection and returns the received bytes. */
export function exchange(
  port: number,
  text: string,
  methods: readonly string[],
  patience: Patience
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const finish = (isClosed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ received, isClosed })
    }
    const timer = setTimeout(() => finish(false), patience.quietMs)
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      timer.refresh()
      if (countDone(received, methods) >= patience.answers) finish(false)
    })
    socket.on('error', () => {})
    socket.on('close', () => finish(true))
    socket.write(text, 'latin1')
  })
}
