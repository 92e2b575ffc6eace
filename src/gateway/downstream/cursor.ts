import { createHmac, timingSafeEqual } from 'node:crypto'

/** Place in a list: signed, and good for one version of the catalog only (proxy page 3.5). */
export interface Cursors {
  encode(list: string, version: string, index: number): string
  /** Index of the next entry; undefined where the cursor is not ours, of another list, or outdated. */
  decode(cursor: string, list: string, version: string): number | undefined
}

const MAC_BYTES = 16

export function createCursors(key: Buffer): Cursors {
  const sign = (place: string) => createHmac('sha256', key).update(place).digest().subarray(0, MAC_BYTES)
  return {
    encode(list, version, index) {
      const place = `${list}:${version}:${index}`
      return Buffer.concat([sign(place), Buffer.from(place)]).toString('base64url')
    },
    decode(cursor, list, version) {
      const bytes = Buffer.from(cursor, 'base64url')
      if (bytes.length <= MAC_BYTES) return undefined
      const place = bytes.subarray(MAC_BYTES).toString()
      if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), sign(place))) return undefined
      const [ofList, ofVersion, index] = place.split(':')
      return ofList === list && ofVersion === version ? Number(index) : undefined
    }
  }
}
