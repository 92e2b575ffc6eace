import type { Worker } from 'node:cluster'

/** Node's own message with which the primary process hands a connection to a worker. */
interface HandOver {
  readonly act: 'newconn'
  /** The listening socket. */
  readonly key: string
  readonly seq: number
}

const isHandOver = (message: unknown): message is HandOver => (message as Partial<HandOver>).act === 'newconn'

/**
 * Calls back once the last messages of a child process that ended were read. Node itself emits no `disconnect` while it
 * waits for the child to take a connection.
 */
function whenRead({ process: child }: Worker, done: () => void): void {
  const check = () => {
    // set at the end of the channel
    if (child.connected) setTimeout(check, 1)
    else done()
  }
  child.once('exit', check)
}

/**
 * Gives a connection that a worker did not take before it died to another one. Node hands over one at a time, waits for
 * the answer, and would hold that connection open for ever: its client would wait until its own time limit.
 */
export function keepConnections(worker: Worker): void {
  const { process: child } = worker
  // without a file descriptor for its channel the process was not started: its `error` event follows
  if ((child.send as unknown) === undefined) return
  const last = new Map<string, number>()
  const send = child.send.bind(child) as (...given: unknown[]) => boolean
  child.send = (...given: unknown[]) => {
    const [message] = given
    if (isHandOver(message)) last.set(message.key, message.seq)
    return send(...given)
  }
  let isDisconnected = false
  // Node's own listener runs first: the worker is no longer among those that get connections
  child.once('disconnect', () => {
    isDisconnected = true
    // without effect for connections that the worker did take
    for (const seq of last.values()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false })
  })
  whenRead(worker, () => {
    if (!isDisconnected) child.emit('disconnect')
  })
}
