import type { Answer, Call } from './call.ts'
import type { TransportClient } from './connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/** Access token of one upstream, which may change while connections are open. */
export interface Authorization {
  /** Value of the `Authorization` header; undefined without a token. */
  readonly value: string | undefined
  /** False if a token must be obtained or renewed before the next request. */
  readonly isFresh: boolean
  /** Obtains or renews the token. Rejects with UpstreamFailure. */
  renew(): Promise<void>
  /**
   * Replaces a value that the upstream refused. Resolves once there is another one, rejects with UpstreamFailure
   * otherwise.
   */
  replace(refused: string | undefined): Promise<void>
  /** Records that the new token was refused too, which stops renewals for a while; returns the failure to report. */
  markRejected(): UpstreamFailure
  /** Current and previous tokens; a different array once they have changed. */
  readonly secrets: readonly string[]
  /** Redacts the tokens in a text. */
  redact(text: string): string
}

const isRefusal = (error: unknown) =>
  error instanceof UpstreamFailure && error.reason === 'auth' && error.status === 401

/** Waits for `work`, but no longer than the call lives. */
function waitWithCall(call: Call, work: Promise<void>): Promise<void> {
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
 * Wraps a client so that its access token is renewed before it expires, and once after a 401: a request refused with
 * 401 was not processed.
 */
export function withAuthorization(client: TransportClient, authorization: Authorization): TransportClient {
  const attempt = async <T>(work: () => Promise<T>, wait: (work: Promise<void>) => Promise<void>): Promise<T> => {
    if (!authorization.isFresh) await wait(authorization.renew())
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
      throw isRefusal(error) ? authorization.markRejected() : error
    }
  }
  const sendWith = (send: (call: Call) => Promise<Answer>) => (call: Call) =>
    attempt(
      () => send(call),
      (work) => waitWithCall(call, work)
    )
  return {
    async open(options) {
      const connection = await attempt(
        () => client.open(options),
        (work) => work
      )
      return Object.assign(connection, { send: sendWith(connection.send.bind(connection)) })
    },
    get fingerprint() {
      return authorization.isFresh ? authorization.value : undefined
    },
    close: () => client.close()
  }
}

const rejected = () => new UpstreamFailure('auth', 'rejected the new access token (HTTP 401)', { status: 401 })

/** Authorization with a token that was just issued and is not stored yet, to find out if it works. */
export const fixedAuthorization = (access: string, redact: (text: string) => string): Authorization => ({
  secrets: [access],
  value: `Bearer ${access}`,
  isFresh: true,
  renew: async () => {},
  replace: () => Promise.reject(rejected()),
  markRejected: rejected,
  redact
})
