import { isObject } from '../../domain/is-object.ts'
import { LATEST_LEGACY_VERSION } from '../../domain/protocol.ts'
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
 * one client that it is about (proxy page 3.16). Kept by this replica only.
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

const MAX_VISITS = 10_000

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const idOf = (params: unknown): string | undefined => {
  const id = isObject(params) ? params['elicitationId'] : undefined
  return typeof id === 'string' ? id : undefined
}

export function createElicitations(): Elicitations {
  // the oldest first
  const visitors = new Map<string, Visitor>()
  const keyOf = (server: string, id: string) => `${server}\0${id}`

  const remember = (server: string, params: unknown, visitor: Visitor) => {
    const id = idOf(params)
    if (id === undefined || visitor.session.version < LATEST_LEGACY_VERSION) return
    const key = keyOf(server, id)
    visitors.delete(key)
    visitors.set(key, visitor)
    if (visitors.size > MAX_VISITS) visitors.delete(visitors.keys().next().value!)
  }
  return {
    note(server, params, visitor) {
      if (params.includes('"elicitationId"')) remember(server, parse(params), visitor)
    },
    noteRequired(server, answer, visitor) {
      for (const params of readElicitations(answer) ?? []) remember(server, params, visitor)
    },
    completed(server, params) {
      const key = keyOf(server, idOf(parse(params)) ?? '')
      const visitor = visitors.get(key)
      if (!visitor) return
      visitors.delete(key)
      const stream = visitor.reply && !visitor.reply.isEnded ? visitor.reply : listenerOf(visitor.session)
      stream?.message(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":${params}}`)
    },
    endSession(session) {
      for (const [key, visitor] of visitors) if (visitor.session === session) visitors.delete(key)
    }
  }
}
