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
  /** Answers after which nothing more is waited for. */
  readonly answers: number
  /** Without a byte for so long, nothing more is waited for either. */
  readonly quietMs: number
}

/** Sends bytes on a connection of their own and returns what came back until then. */
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
