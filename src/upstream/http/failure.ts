import { missingScopes } from './challenge.ts'
import { type FailureOptions, type FailureReason, UpstreamFailure } from '../../protocol/upstream-failure.ts'

const MAX_CHALLENGE = 4096

/**
 * Returns the value of a response header, the first of several; undefined if the header is absent. `name` in lower
 * case.
 */
export function headerOf(raw: readonly Buffer[], name: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const key = raw[i]!
    if (key.length === name.length && key.toString('latin1').toLowerCase() === name)
      return raw[i + 1]!.toString('latin1')
  }
  return undefined
}

const reasonOf = (status: number): FailureReason => {
  if (status === 429) return 'overloaded'
  return status === 502 || status === 503 || status === 504 ? 'unreachable' : 'bad_response'
}

/**
 * Returns the failure for an HTTP status whose body is not JSON-RPC. `cause` is `{ wwwAuthenticate }`, the raw
 * challenge for OAuth, on 401 and 403; `{ location }` on a redirect.
 */
export function statusFailure(status: number, raw: readonly Buffer[], hasCredential: boolean): UpstreamFailure {
  if (status === 401 || status === 403) {
    const wwwAuthenticate = headerOf(raw, 'www-authenticate')?.slice(0, MAX_CHALLENGE)
    const problem = hasCredential ? 'rejected the configured token' : 'demands authentication'
    const scopes = missingScopes(wwwAuthenticate)
    const lack = scopes === undefined ? '' : `: the sign-in lacks the scopes "${scopes}"`
    const text = status === 403 ? `refused the request${lack}` : problem
    return new UpstreamFailure('auth', `${text} (HTTP ${status})`, { status, cause: { wwwAuthenticate } })
  }
  if (status >= 300 && status < 400) {
    const text = `redirects to another URL (HTTP ${status}); register that URL instead`
    return new UpstreamFailure('bad_response', text, { status, cause: { location: headerOf(raw, 'location') } })
  }
  if (status < 300) {
    const text = `answered HTTP ${status} with neither JSON nor an event stream`
    const isPage = headerOf(raw, 'content-type')?.toLowerCase().startsWith('text/html') === true
    return new UpstreamFailure('bad_response', text, { status, ...(isPage ? { code: 'html' } : {}) })
  }
  return new UpstreamFailure(reasonOf(status), `answered HTTP ${status}`, { status })
}

const codeOf = (error: unknown): string => {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}

const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host name does not resolve',
  EAI_AGAIN: 'host name does not resolve',
  UND_ERR_DESTROYED: 'connection was closed',
  UND_ERR_CLOSED: 'connection was closed'
}
const connectTimeouts = ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']

function connectFailure(code: string, options: FailureOptions): UpstreamFailure {
  if (connectTimeouts.includes(code)) return new UpstreamFailure('timeout', 'connecting timed out', options)
  const known = Object.hasOwn(connectTexts, code) ? connectTexts[code] : undefined
  const text = known ?? `no connection${/^[A-Z_]{3,60}$/.test(code) ? ` (${code})` : ''}`
  return new UpstreamFailure('unreachable', text, options)
}

/** Returns the failure for an error of the HTTP client. `sent`: the request may have reached the upstream. */
export function socketFailure(error: unknown, sent: boolean): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  const code = codeOf(error)
  const options: FailureOptions = { maybeProcessed: sent, cause: error, ...(code === '' ? {} : { code }) }
  if (!sent) return connectFailure(code, options)
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new UpstreamFailure('bad_response', 'answered with fewer bytes than announced', options)
  }
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new UpstreamFailure('bad_response', 'answered with invalid HTTP', options)
  }
  return new UpstreamFailure('unreachable', 'connection was lost before the answer', options)
}
