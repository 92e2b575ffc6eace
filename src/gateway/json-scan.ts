import { BLOCK, FOUND_DOUBT, FOUND_UNFINISHED, scanModule } from './json-scan-code.ts'

/** Exports of the WebAssembly module in `json-scan-code.ts`; offsets are into its memory. */
interface ScanExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  begin(): number
  check(at: number, end: number): number
  endOfString(at: number, end: number): number
}

/** Size of `scanRoom`. */
const ROOM_BYTES = 4_194_304
/** Start of the buffer for parts of texts outside `scanRoom`, after the bytes that `check` overwrites. */
const PART_START = ROOM_BYTES + BLOCK
const PART_BYTES = 32_768
const PAGES = (ROOM_BYTES + 65_536) / 65_536

/** Part of the `WebAssembly` global, which the types of Node.js lack. */
interface Engine {
  readonly Module: new (bytes: Buffer) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

function load(): ScanExports | null {
  try {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly
    return new Instance(new Module(scanModule(PAGES))).exports as ScanExports
  } catch {
    // no SSE 4.1, or Node.js without WebAssembly: json-text.ts and json-bytes.ts fall back to JavaScript
    return null
  }
}

const scan = load()
const memory = scan?.memory.buffer
const bytesOfPart = memory && Buffer.from(memory, PART_START, PART_BYTES)

/** WebAssembly memory for a text that is scanned without a copy: one text at a time, only during its parse. */
export const scanRoom: Buffer = memory ? Buffer.from(memory, 0, ROOM_BYTES) : Buffer.allocUnsafeSlow(ROOM_BYTES)

/** Tests if the bytes are in `scanRoom`, as `scanEndOfString` requires. */
export const isInScanRoom = (bytes: Buffer): boolean => bytes.buffer === memory

function scanParts(bytes: Buffer): number {
  const { length } = bytes
  let found = 0
  for (let at = 0; at < length; at += PART_BYTES) {
    const end = Math.min(at + PART_BYTES, length)
    bytesOfPart!.set(length <= PART_BYTES ? bytes : bytes.subarray(at, end))
    found = (found & ~FOUND_UNFINISHED) | scan!.check(PART_START, PART_START + end - at)
    if ((found & FOUND_DOUBT) !== 0) break
  }
  return found
}

/**
 * Scans a text for control characters and invalid escapes. Returns 0 or `FOUND_WHITE`; the bit `FOUND_DOUBT` means that
 * the text must be checked character by character.
 */
export function scanText(bytes: Buffer): number {
  if (!scan) return FOUND_DOUBT
  scan.begin()
  const { byteOffset, length } = bytes
  const found = isInScanRoom(bytes) ? scan.check(byteOffset, byteOffset + length) : scanParts(bytes)
  return (found & FOUND_UNFINISHED) === 0 ? found : FOUND_DOUBT
}

/**
 * Returns the offset after the string that contains `at`; -1 if the string does not end before `limit`. `at` must not
 * be inside an escape, and the bytes must be in `scanRoom`.
 */
export function scanEndOfString({ byteOffset }: Buffer, at: number, limit: number): number {
  const end = scan!.endOfString(byteOffset + at, byteOffset + limit)
  return end < 0 ? -1 : end - byteOffset
}
