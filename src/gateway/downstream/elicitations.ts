import { LATEST_LEGACY_VERSION } from '../../domain/protocol.ts'
import { members, stringOf } from '../json.ts'
import { createFairShareCache } from '../kept.ts'
import type { Answer } from '../upstream/call.ts'
import { listenerOf } from './listen.ts'
import type { Responder } from './responder.ts'
import type { Session } from './session.ts'
import { readElicitations } from './url-elicitation.ts'

/** Who was asked to visit a page, and on which stream. */
interface Visitor {
  readonly session: Session
  /** The stream of the call that asked, if one did. */
  readonly reply: Responder | null
}

/**
 * Pages that clients of 2025-11-25 were asked to visit, so that the word of the upstream that a visit is over reaches the
 * one client that it is about (mcp-proxy.md#sampling-roots-and-elicitation). Kept by this replica only.
 */
export interface Elicitations {
  /** `params` of a request to a client, as JSON text; does nothing where it is no page. */
  note(server: string, params: string, visitor: Visitor): void
  /** The pages in an error -32042. */
  noteRequired(server: string, answer: Answer, visitor: Visitor): void
  /** An upstream has sent `notifications/elicitation/complete` with these params. */
  completed(server: string, params: string): void
  /** The session is over. */
  endSession(session: Session): void
}

const MAX_ID_CHARACTERS = 8_192
const MAX_BYTES = 4_194_304
const MAX_BYTES_PER_SERVER = 1_048_576
/** A visit is over by then: sign-in pages wait for minutes. */
const MAX_AGE_MS = 3_600_000

const usable = (id: unknown): string | undefined =>
  typeof id === 'string' && id.length <= MAX_ID_CHARACTERS ? id : undefined

/** Of `params` as JSON text, of which nothing else is read. */
function idIn(params: string): string | undefined {
  try {
    return usable(stringOf(params, members(params), 'elicitationId'))
  } catch {
    return undefined
  }
}

export function createElicitations(): Elicitations {
  const visitors = createFairShareCache<Visitor>({
    maxBytes: MAX_BYTES,
    maxBytesPerOwner: MAX_BYTES_PER_SERVER,
    maxAgeMs: MAX_AGE_MS
  })

  const remember = (server: string, id: string | undefined, visitor: Visitor) => {
    if (id === undefined || visitor.session.version < LATEST_LEGACY_VERSION) return
    visitors.set(server, visitor.session.principal, id, visitor)
  }
  return {
    note(server, params, visitor) {
      if (params.includes('"elicitationId"')) remember(server, idIn(params), visitor)
    },
    noteRequired(server, answer, visitor) {
      for (const { elicitationId } of readElicitations(answer) ?? []) remember(server, usable(elicitationId), visitor)
    },
    completed(server, params) {
      const id = idIn(params)
      const found = id === undefined ? undefined : visitors.newest(id, { owner: server })
      if (!found) return
      visitors.delete(server, found.holder, id!)
      const visitor = found.value
      const stream = visitor.reply && !visitor.reply.isEnded ? visitor.reply : listenerOf(visitor.session)
      stream?.message(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":${params}}`)
    },
    endSession(session) {
      visitors.deleteWhere((visitor) => visitor.session === session)
    }
  }
}
