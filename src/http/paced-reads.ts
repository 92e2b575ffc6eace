import type { IncomingMessage } from 'node:http'
import { createTurnQueue } from '../lib/turn-queue.ts'

/** Bytes of bodies that a turn of the event loop reads. 64 KiB take a tenth of a millisecond, with garbage collection. */
const TURN_BYTES = 262_144

/** Bytes of each body that never wait, so that a small body is not behind large ones. */
const FREE_BYTES = 65_536

/** Bodies that are paced already: one that is refused half-way is drained too. */
const paced = new WeakSet<IncomingMessage>()
/** Bodies that wait for the rest, one in a turn. */
const turns = createTurnQueue()
let bytesOfTurn = 0
const forgetTurn = () => {
  bytesOfTurn = 0
}

/**
 * Reads the body of a request over several turns of the event loop: one turn would read up to 2 MiB of each connection.
 * Call it in the turn in which the body begins to be read. Of each body, one chunk of its socket (64 KiB) can follow the
 * chunk that ends a turn.
 */
export function paceReads(body: IncomingMessage): void {
  if (paced.has(body)) return
  paced.add(body)
  let received = 0
  body.on('data', ({ length }: Buffer) => {
    if (bytesOfTurn === 0) setImmediate(forgetTurn)
    bytesOfTurn += length
    received += length
    if (bytesOfTurn <= TURN_BYTES || received <= FREE_BYTES) return
    body.pause()
    void turns.next().then(() => body.resume())
  })
}
