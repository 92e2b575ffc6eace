import { createHmac, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Signed list positions, valid for one version of the catalog (mcp-proxy.md#lists). */
export interface Cursors {
  encode(list: string, version: string, index: number): string
  /** Returns the index of the next entry; undefined if the cursor is forged, outdated or of another list. */
  decode(cursor: string, list: string, version: string): number | undefined
}

const MAC_BYTES = 16
/** Limit of cached signatures: computing one is the largest cost of a list page beside its bytes. */
const MAX_CACHED = 1_000

export function createCursors(key: Buffer): Cursors {
  const known = new LRUCache<string, Buffer>({ max: MAX_CACHED })
  const sign = (position: string) => createHmac('sha256', key).update(position).digest().subarray(0, MAC_BYTES)
  /** Signs a position that the gateway issues, with a cache; received positions are never added to it. */
  const signCached = (position: string): Buffer => {
    const mac = known.get(position) ?? sign(position)
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
