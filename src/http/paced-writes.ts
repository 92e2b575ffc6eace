import type { Socket } from 'node:net'
import { createTurnQueue } from '../lib/turn-queue.ts'

/** Bytes that the kernel is given at once: it takes tens of milliseconds to copy many megabytes. */
const PORTION_BYTES = 2_097_152

interface Chunk {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding | 'buffer'
}

type Done = (error?: Error | null) => void

/** The methods that a writable stream calls to write (Node.js, "Implementing a writable stream"). */
interface Writing {
  _write(chunk: Chunk['chunk'], encoding: Chunk['encoding'], done: Done): void
  _writev(chunks: readonly Chunk[], done: Done): void
}

const lengthOf = (chunks: readonly Chunk[]) => chunks.reduce((sum, { chunk }) => sum + chunk.length, 0)

/** Yields the same bytes in portions. Strings of more than one portion become buffers. */
function* portionsOf(chunks: readonly Chunk[]): Generator<Chunk[], void> {
  let portion: Chunk[] = []
  let room = PORTION_BYTES
  for (const { chunk, encoding } of chunks) {
    const isLong = typeof chunk === 'string' && chunk.length > PORTION_BYTES
    const bytes = isLong ? Buffer.from(chunk, encoding as BufferEncoding) : chunk
    for (let at = 0; at < bytes.length;) {
      const part = typeof bytes === 'string' ? bytes : bytes.subarray(at, at + room)
      portion.push({ chunk: part, encoding: typeof part === 'string' ? encoding : 'buffer' })
      at += part.length
      room -= part.length
      if (room > 0) continue
      yield portion
      portion = []
      room = PORTION_BYTES
    }
  }
  if (portion.length > 0) yield portion
}

/** Portions of all connections, one in a turn of the event loop, after the first of each answer. */
const turns = createTurnQueue()

/** Writes what is larger than 2 MiB to the connection over several turns of the event loop. */
export function paceWrites(socket: Socket): void {
  const writing = socket as unknown as Writing
  const write = writing._write.bind(socket)
  const writev = writing._writev.bind(socket)
  const writeLarge = (chunks: readonly Chunk[], done: Done) => {
    const portions = portionsOf(chunks)
    const writeNext = () => {
      const { done: isOver, value } = portions.next()
      if (isOver) return done()
      writev(value, (error) => {
        if (error) done(error)
        else void turns.next().then(writeNext)
      })
    }
    writeNext()
  }
  writing._write = (chunk, encoding, done) => {
    if (chunk.length > PORTION_BYTES) writeLarge([{ chunk, encoding }], done)
    else write(chunk, encoding, done)
  }
  writing._writev = (chunks, done) => {
    if (lengthOf(chunks) > PORTION_BYTES) writeLarge(chunks, done)
    else writev(chunks, done)
  }
}
