import type { Adapter, AdapterPayload, errors } from 'oidc-provider'
import type { OAuthRecord, OAuthRecords, StoredOAuthRecord } from '../registry/oauth-records.ts'

/** Time in which a refresh token can be used once more: a client that lost the answer, or two that share a file, retry. */
const RETRY_MS = 20_000
/** Life of a registered client without use, and of one that nobody has let in. */
const CLIENT_S = 90 * 86_400
export const NEW_CLIENT_S = 86_400
const TOUCH_MS = 86_400_000
/** Records that can be used once (RFC 6749 4.1.2); a refresh token can be retried. */
const SINGLE_USE: ReadonlySet<string> = new Set(['AuthorizationCode', 'DeviceCode'])
/** Time in which a device whose code has expired is still told so (RFC 8628 3.5). */
const EXPIRED_DEVICE_CODE_S = 600

export interface AdapterOptions {
  readonly records: () => OAuthRecords
  /** Ends the access tokens of a grant; the answer waits for it. */
  readonly onGrantEnded: (grantId: string) => Promise<void>
  /** Error of the library for a grant that is not valid. */
  readonly InvalidGrant: typeof errors.InvalidGrant
  readonly now?: () => number
}

/**
 * Store of the library's own sessions, which are not kept: the gateway has the session of a person, and a person whom the
 * library remembers could not be followed by another in the same browser.
 */
const forgetful: Adapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  revokeByGrantId: async () => {}
}

/** Returns a function that creates the adapters of the library, all on one store. */
export function createAdapters({
  records,
  onGrantEnded,
  InvalidGrant,
  now = () => Date.now()
}: AdapterOptions): (model: string) => Adapter {
  const touched = new Map<string, number>()
  const read = (model: string, found: StoredOAuthRecord | undefined): AdapterPayload | undefined => {
    if (!found) return undefined
    const { payload, consumedAt } = found
    const isRetry = model === 'RefreshToken' && consumedAt !== undefined && now() - consumedAt < RETRY_MS
    const consumed = consumedAt === undefined || isRetry ? {} : { consumed: Math.floor(consumedAt / 1_000) }
    return { ...payload, ...consumed } as AdapterPayload
  }
  /** Ends the grant of a record that two requests have used at the same time: one of them is not the client's. */
  const endTwiceUsed = async (model: string, id: string): Promise<never> => {
    const grantId = (await records().find(model, id))?.payload.grantId
    if (typeof grantId === 'string') {
      await records().destroyGrant(grantId)
      await onGrantEnded(grantId)
    }
    throw new InvalidGrant('the code was used before')
  }
  const create = (model: string): Adapter => ({
    async upsert(id, payload, seconds) {
      const extra = model === 'DeviceCode' ? EXPIRED_DEVICE_CODE_S : 0
      const life = seconds && seconds + extra
      await records().upsert(model, id, payload as OAuthRecord, model === 'Client' ? NEW_CLIENT_S : life)
      if (model === 'Grant' && payload.clientId) await records().touch('Client', payload.clientId, CLIENT_S)
    },
    async find(id) {
      const found = await records().find(model, id)
      if (model === 'Client' && found && now() - (touched.get(id) ?? 0) > TOUCH_MS) {
        if (touched.size > 10_000) touched.clear()
        touched.set(id, now())
        await records().touch(model, id, CLIENT_S, { ifLeftS: NEW_CLIENT_S })
      }
      return read(model, found)
    },
    findByUid: async (uid) => read(model, await records().findByUid(model, uid)),
    findByUserCode: async (code) => read(model, await records().findByUserCode(model, code)),
    async consume(id) {
      const isFirst = await records().consume(model, id)
      if (!isFirst && SINGLE_USE.has(model)) await endTwiceUsed(model, id)
    },
    async destroy(id) {
      await records().destroy(model, id)
      if (model === 'Grant') await onGrantEnded(id)
    },
    revokeByGrantId: (grantId) => records().destroyGrant(grantId)
  })
  return (model) => (model === 'Session' ? forgetful : create(model))
}
