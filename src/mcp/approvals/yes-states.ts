import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { UsedAssertions } from '../../registry/used-assertions.ts'

/** Contents of a state that a client gets back to send with its next request. */
export interface YesState {
  /** Hash of the rule that asks. */
  readonly ruleHash: string
  /** Digest of the call as hexadecimal digits. */
  readonly digest: string
  /** True if the yes was given; false while it is asked for. */
  readonly isGiven: boolean
  /** State of the upstream, which asked for input after the yes. */
  readonly inner?: string | undefined
}

/** Signed states that count once, on any replica and without memory (approvals.md). */
export interface YesStates {
  seal(state: YesState): string
  /** Returns true for a state that this gateway issued or that poses as one. */
  isOwn(state: unknown): state is string
  /** Uses a state; undefined if it is malformed, expired, of another call, or used. Rejects with a 503 AppError. */
  use(sealed: string, call: Pick<YesState, 'ruleHash' | 'digest'>): Promise<YesState | undefined>
}

const PREFIX = 'twy1.'
const LIFE_S = 120
/** Answers to the questions of an upstream may take longer. */
const GIVEN_LIFE_S = 600

type Fields = readonly [YesState, id: string, expiresAt: number]

export function createYesStates(key: Buffer, used: UsedAssertions, now: () => number = Date.now): YesStates {
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest('base64url')
  const read = (sealed: string): Fields | undefined => {
    const [payload = '', signature = '', ...rest] = sealed.slice(PREFIX.length).split('.')
    const [expected, given] = [Buffer.from(sign(payload)), Buffer.from(signature)]
    if (rest.length > 0 || expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Fields
  }
  return {
    seal(state) {
      const expiresAt = Math.ceil(now() / 1_000) + (state.isGiven ? GIVEN_LIFE_S : LIFE_S)
      const fields: Fields = [state, randomUUID(), expiresAt]
      const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
      return `${PREFIX}${payload}.${sign(payload)}`
    },
    isOwn: (state): state is string => typeof state === 'string' && state.startsWith(PREFIX),
    async use(sealed, { ruleHash, digest }) {
      const fields = read(sealed)
      if (!fields) return undefined
      const [state, id, expiresAt] = fields
      if (state.ruleHash !== ruleHash || state.digest !== digest || now() / 1_000 >= expiresAt) return undefined
      return (await used.use({ purpose: 'confirmation', issuer: '', id, expiresAt })) ? state : undefined
    }
  }
}
