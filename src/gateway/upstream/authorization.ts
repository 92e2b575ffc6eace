import type { Answer, Call } from './call.ts'
import type { TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'

/** The access token of one upstream, which may change while connections are open. */
export interface Authorization {
  /** Value of the `Authorization` header; undefined where there is none yet. */
  readonly value: string | undefined
  /** False where the token is to be had or renewed before the next request. */
  readonly isFresh: boolean
  /** Makes it fresh. Rejects with UpstreamFailure where it cannot be. */
  freshen(): Promise<void>
  /** The upstream refused that value. Resolves when there is another one, rejects with UpstreamFailure where there is none. */
  replace(refused: string | undefined): Promise<void>
  /** It refused the new one too: nobody asks for another one for a while. What to fail with. */
  refusedAgain(): UpstreamFailure
  /** The tokens in force and those before them; another array where they have changed. */
  readonly secrets: readonly string[]
  /** Takes the tokens out of text. */
  redact(text: string): string
}

const isRefusal = (error: unknown) =>
  error instanceof UpstreamFailure && error.reason === 'auth' && error.status === 401

/** Waits, but no longer than the call lives. */
function whileAlive(call: Call, work: Promise<void>): Promise<void> {
  if (call.stopped) return Promise.reject(call.stopped)
  return new Promise((resolve, reject) => {
    call.onStop = reject
    work
      .finally(() => {
        if (!call.stopped) call.onStop = null
      })
      .then(resolve, reject)
  })
}

/**
 * The same client, which renews the access token before it expires, and once where the upstream refuses it: what is
 * refused with 401 has not been taken.
 */
export function authorized(client: TransportClient, authorization: Authorization): TransportClient {
  const attempt = async <T>(work: () => Promise<T>, wait: (work: Promise<void>) => Promise<void>): Promise<T> => {
    if (!authorization.isFresh) await wait(authorization.freshen())
    const used = authorization.value
    try {
      return await work()
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
    await wait(authorization.replace(used))
    try {
      return await work()
    } catch (error) {
      throw isRefusal(error) ? authorization.refusedAgain() : error
    }
  }
  const sendWith = (send: (call: Call) => Promise<Answer>) => (call: Call) =>
    attempt(
      () => send(call),
      (work) => whileAlive(call, work)
    )
  return {
    async open(options) {
      const connection = await attempt(
        () => client.open(options),
        (work) => work
      )
      return Object.assign(connection, { send: sendWith(connection.send) })
    },
    get fingerprint() {
      return authorization.isFresh ? authorization.value : undefined
    },
    close: () => client.close()
  }
}

const rejected = () => new UpstreamFailure('auth', 'rejected the new access token (HTTP 401)', { status: 401 })

/** A token that has just been handed out and is not stored yet: what it is good for is about to be seen. */
export const fixedAuthorization = (access: string, redact: (text: string) => string): Authorization => ({
  secrets: [access],
  value: `Bearer ${access}`,
  isFresh: true,
  freshen: async () => {},
  replace: () => Promise.reject(rejected()),
  refusedAgain: rejected,
  redact
})
