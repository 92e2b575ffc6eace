import { LATEST_LEGACY_VERSION } from '../../domain/mcp-constants.ts'
import { members, stringOf } from '../../json/json.ts'
import { createFairShareCache } from '../../lib/fair-share-cache.ts'
import type { Answer } from '../../upstream/transport/call.ts'
import type { ResponseWriter } from '../sessions/response-writer.ts'
import { type Session, currentStreamOf } from '../sessions/client-sessions.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { readElicitations } from './url-elicitation.ts'

/** The session and stream on which a URL elicitation was sent. */
interface ElicitationTarget {
  readonly session: Session
  /** The stream of the call that caused it, if any. */
  readonly reply: ResponseWriter | null
}

/**
 * URL elicitations sent to clients of 2025-11-25, so that `notifications/elicitation/complete` reaches the client
 * concerned (mcp-proxy.md#sampling-roots-and-elicitation). Local to this replica.
 */
export interface Elicitations {
  /**
   * Records the elicitation in `params`, JSON text of a request to a client; no effect if it has no `elicitationId`.
   */
  record(server: string, params: string, target: ElicitationTarget): void
  /** Records the elicitations in an error -32042. */
  recordRequired(server: string, answer: Answer, target: ElicitationTarget): void
  /** Relays `notifications/elicitation/complete` of an upstream to the client concerned. */
  complete(server: string, params: string): void
  /** Deletes the session's elicitations. */
  endSession(session: Session): void
}

const MAX_ID_CHARACTERS = 8_192
const MAX_BYTES = 4_194_304
const MAX_BYTES_PER_SERVER = 1_048_576
/** Elicitations are complete by then: sign-in pages expire within minutes. */
const MAX_AGE_MS = 3_600_000

const usableId = (id: unknown): string | undefined =>
  typeof id === 'string' && id.length <= MAX_ID_CHARACTERS ? id : undefined

/** Returns the `elicitationId` of `params` (JSON text). */
function idIn(params: string): string | undefined {
  try {
    return usableId(stringOf(params, members(params), 'elicitationId'))
  } catch {
    return undefined
  }
}

export function createElicitations(): Elicitations {
  const targets = createFairShareCache<ElicitationTarget>({
    maxBytes: MAX_BYTES,
    maxBytesPerOwner: MAX_BYTES_PER_SERVER,
    maxAgeMs: MAX_AGE_MS
  })

  const remember = (server: string, id: string | undefined, target: ElicitationTarget) => {
    if (id === undefined || target.session.version < LATEST_LEGACY_VERSION) return
    targets.set(server, target.session.principal, id, target)
  }
  return {
    record(server, params, target) {
      if (params.includes('"elicitationId"')) remember(server, idIn(params), target)
    },
    recordRequired(server, answer, target) {
      for (const { elicitationId } of readElicitations(answer) ?? []) remember(server, usableId(elicitationId), target)
    },
    complete(server, params) {
      const id = idIn(params)
      const found = id === undefined ? undefined : targets.newest(id, { owner: server })
      if (!found) return
      targets.delete(server, found.holder, id!)
      const target = found.value
      const stream = target.reply && !target.reply.isEnded ? target.reply : currentStreamOf(target.session)
      stream?.sendMessage(notificationText('notifications/elicitation/complete', params))
    },
    endSession(session) {
      targets.deleteWhere((target) => target.session === session)
    }
  }
}
