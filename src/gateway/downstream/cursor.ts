import { createHmac, timingSafeEqual } from 'node:crypto'

/** Place in a list: signed, and good for one version of the catalog only (mcp-proxy.md#lists). */
export interface Cursors {
  encode(list: string, version: string, index: number): string
  /** Index of the next entry; undefined where the cursor is not ours, of another list, or outdated. */
  decode(cursor: string, list: string, version: string): number | undefined
}

const MAC_BYTES = 16
/** Signatures of our own that are remembered: making one costs more than everything else that a page takes but its bytes. */
const MAX_CACHED = 1_000

export function createCursors(key: Buffer): Cursors {
  const known = new Map<string, Buffer>()
  const sign = (position: string) => createHmac('sha256', key).update(position).digest().subarray(0, MAC_BYTES)
  /** Only of places that we name ourselves. */
  const signCached = (position: string): Buffer => {
    const mac = known.get(position) ?? sign(position)
    if (known.size === MAX_CACHED) known.clear()
    known.set(position, mac)
    return mac
  }
  return {
    encode(list, version, index) {
      const position = `${list}:${version}:${index}`
      return Buffer.concat([signCached(position), Buffer.from(position)]).toString('base64url')
    },
    decode(cursor, list, version) {
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= MAC_BYTES) return undefined
      const position = bytes.subarray(MAC_BYTES).toString()
      if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), known.get(position) ?? sign(position))) return undefined
      const [ofList, ofVersion, index] = position.split(':')
      return ofList === list && ofVersion === version ? Number(index) : undefined
    }
  }
}
