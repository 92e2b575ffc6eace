import { BLOCK, FOUND_DOUBT, FOUND_UNFINISHED, scanModule } from './json-scan-code.ts'

/** What the module of `json-scan-code.ts` exports; offsets are into its memory. */
interface ScanExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  begin(): number
  check(at: number, end: number): number
  endOfString(at: number, end: number): number
}

/** Room for texts that stay where they are while they are read. */
const ROOM_BYTES = 4_194_304
/** Behind it, and behind the bytes that `check` overwrites there: room for a part of a text that lies elsewhere. */
const PART_START = ROOM_BYTES + BLOCK
const PART_BYTES = 32_768
const PAGES = (ROOM_BYTES + 65_536) / 65_536

/** Not among the types of Node.js. */
interface Engine {
  readonly Module: new (bytes: Buffer) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

function load(): ScanExports | null {
  try {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly
    return new Instance(new Module(scanModule(PAGES))).exports as ScanExports
  } catch {
    // a processor without SSE 4.1, or Node.js without a compiler: json-text.ts and json-bytes.ts then read alone
    return null
  }
}

const scan = load()
const memory = scan?.memory.buffer
const bytesOfPart = memory && Buffer.from(memory, PART_START, PART_BYTES)

/** Memory in which texts are read without being copied: one at a time, for as long as it takes to read it. */
export const scanRoom: Buffer = memory ? Buffer.from(memory, 0, ROOM_BYTES) : Buffer.allocUnsafeSlow(ROOM_BYTES)

/** Whether `scanEndOfString` can be asked about these bytes. */
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
 * Looks for control characters and at escapes. Returns bits: 0, `FOUND_WHITE`, or something with `FOUND_DOUBT`, which says
 * that the text has to be read character by character.
 */
export function scanText(bytes: Buffer): number {
  if (!scan) return FOUND_DOUBT
  scan.begin()
  const { byteOffset, length } = bytes
  const found = isInScanRoom(bytes) ? scan.check(byteOffset, byteOffset + length) : scanParts(bytes)
  return (found & FOUND_UNFINISHED) === 0 ? found : FOUND_DOUBT
}

/**
 * The offset behind the string that `at` is in, not in the middle of an escape; -1 where it does not end up to `limit`. The
 * bytes are in `scanRoom`.
 */
export function scanEndOfString({ byteOffset }: Buffer, at: number, limit: number): number {
  const end = scan!.endOfString(byteOffset + at, byteOffset + limit)
  return end < 0 ? -1 : end - byteOffset
}
