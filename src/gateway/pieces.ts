import { scanRoom } from './json-scan.ts'

/** Bytes that came in several buffers and stay there: put together, a large answer costs more than to relay it. */
export type Pieces = readonly Buffer[]

export const lengthOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0)

/** The bytes from `start` up to `end`, uncopied. */
export function cutPieces(pieces: Pieces, start: number, end: number): Buffer[] {
  const cut: Buffer[] = []
  let at = 0
  for (const piece of pieces) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, piece.length)]
    if (from < to) cut.push(from === 0 && to === piece.length ? piece : piece.subarray(from, to))
    at += piece.length
    if (at >= end) break
  }
  return cut
}

export const joined = (pieces: Pieces): Buffer => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))

/** `text` is ASCII, and may stand where two buffers meet. */
export function includesText(pieces: Pieces, text: string): boolean {
  const longest = text.length - 1
  let end: Buffer = Buffer.alloc(0)
  for (const piece of pieces) {
    if (piece.includes(text, 0, 'latin1')) return true
    const seam = Buffer.concat([end, piece.subarray(0, longest)])
    if (seam.includes(text, 0, 'latin1')) return true
    const last = piece.length < longest ? seam : piece
    end = last.subarray(Math.max(last.length - longest, 0))
  }
  return false
}

/** Less than this is copied: an upstream that sends its answer in crumbs shall cost no more memory than the answer. */
const CRUMB_BYTES = 16_384
/** Most answers that come in two chunks are small. */
const SMALLEST_BYTES = 4_096
const GATHERED_BYTES = 65_536

/** Gathers what arrives. */
export class Arrivals {
  length = 0
  #pieces: Buffer[] = []
  /** The last piece, where it has room for more. */
  #open: Buffer | null = null
  #filled = 0

  add(chunk: Buffer): void {
    this.length += chunk.length
    if (chunk.length >= CRUMB_BYTES || (this.#pieces.length === 0 && !this.#open)) {
      this.#close()
      this.#pieces.push(chunk)
      return
    }
    if (!this.#open || this.#open.length - this.#filled < chunk.length) {
      this.#close()
      this.#open = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * this.length, SMALLEST_BYTES), GATHERED_BYTES))
    }
    this.#open.set(chunk, this.#filled)
    this.#filled += chunk.length
  }

  /** Everything so far; begins anew. */
  take(): Buffer[] {
    this.#close()
    const all = this.#pieces
    this.#pieces = []
    this.length = 0
    return all
  }

  #close(): void {
    if (this.#open) this.#pieces.push(this.#open.subarray(0, this.#filled))
    this.#open = null
    this.#filled = 0
  }
}

/**
 * The bytes side by side for as long as it takes to read them: what it gave before is overwritten. New buffers of this size
 * would cost a page fault for each 4 kB, and the garbage collector its time.
 */
export function gather(pieces: Pieces): Buffer {
  if (pieces.length === 1) return pieces[0]!
  const length = lengthOf(pieces)
  if (length > scanRoom.length) return Buffer.concat(pieces)
  let at = 0
  for (const piece of pieces) {
    scanRoom.set(piece, at)
    at += piece.length
  }
  return scanRoom.subarray(0, length)
}
