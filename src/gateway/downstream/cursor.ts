import { createHmac, timingSafeEqual } from 'node:crypto'

/** Place in a list: signed, and good for one version of the catalog only (mcp-proxy.md#lists). */
export interface Cursors {
  encode(list: string, version: string, index: number): string
  /** Index of the next entry; undefined where the cursor is not ours, of another list, or outdated. */
  decode(cursor: string, list: string, version: string): number | undefined
}

const MAC_BYTES = 16
/** Signatures of our own that are remembered: making one costs more than everything else that a page takes but its bytes. */
const MAX_KNOWN = 1_000

export function createCursors(key: Buffer): Cursors {
  const known = new Map<string, Buffer>()
  const sign = (place: string) => createHmac('sha256', key).update(place).digest().subarray(0, MAC_BYTES)
  /** Only of places that we name ourselves. */
  const signOwn = (place: string): Buffer => {
    const mac = known.get(place) ?? sign(place)
    if (known.size === MAX_KNOWN) known.clear()
    known.set(place, mac)
    return mac
  }
  return {
    encode(list, version, index) {
      const place = `${list}:${version}:${index}`
      return Buffer.concat([signOwn(place), Buffer.from(place)]).toString('base64url')
    },
    decode(cursor, list, version) {
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= MAC_BYTES) return undefined
      const place = bytes.subarray(MAC_BYTES).toString()
      if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), known.get(place) ?? sign(place))) return undefined
      const [ofList, ofVersion, index] = place.split(':')
      return ofList === list && ofVersion === version ? Number(index) : undefined
    }
  }
}
