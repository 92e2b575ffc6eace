import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TITLE } from '../../domain/product.ts'
import { escapeText } from '../../domain/text/text.ts'
import { EXIT, Failure } from './failure.ts'

const PATH = '/oauth/callback'
const BASE = 'http://127.0.0.1'

/** Parameters of the authorization response. */
export interface AuthorizationResponse {
  readonly code: string
  readonly state: string
  readonly iss?: string
}

export interface Callback {
  readonly redirectUri: string
  /**
   * Resolves with the response that carries `state`; rejects with a Failure on an OAuth error or when `signal` aborts.
   */
  waitForResponse(state: string, signal: AbortSignal): Promise<AuthorizationResponse>
  close(): void
}

const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Sends a page of fixed text, which contains nothing from the request. */
function page(response: ServerResponse, status: number, heading: string, text: string): void {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close'
  }
  response
    .writeHead(status, headers)
    .end(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">` +
        `<title>${heading} · ${TITLE}</title></head><body><h1>${heading}</h1><p>${text}</p></body></html>\n`
    )
}

/**
 * Parses an authorization response (RFC 6749 4.1.2): the code, or a Failure for its error. Undefined if it is neither,
 * or belongs to another sign-in.
 */
function parseResponse(query: URLSearchParams, state: string): AuthorizationResponse | Failure | undefined {
  if (query.get('state') !== state) return undefined
  const [code, error, iss] = [query.get('code'), query.get('error'), query.get('iss')]
  if (error !== null) {
    const description = query.get('error_description')
    const why = description === null ? error : `${error}: ${description}`
    return new Failure(EXIT.failed, `the sign-in was refused (${escapeText(why, 500)})`, { code: 'sign_in_refused' })
  }
  if (code === null) return undefined
  return { code, state, ...(iss === null ? {} : { iss }) }
}

/** Listens on a loopback port for the redirect of one sign-in (RFC 8252 7.3). */
export async function listenForCallback(): Promise<Callback> {
  let handleQuery: ((query: URLSearchParams) => AuthorizationResponse | Failure | undefined) | undefined
  const server = createServer((request, response) => {
    // any local process or web page can connect, with paths such as `//` that are no URL
    const url = URL.canParse(request.url ?? '/', BASE) ? new URL(request.url ?? '/', BASE) : undefined
    if (request.method !== 'GET' || url?.pathname !== PATH)
      return page(response, 404, 'Not found', 'This page does not exist.')
    const returned = handleQuery?.(url.searchParams)
    if (returned === undefined)
      return page(response, 400, 'Unexpected response', 'This response does not belong to the current sign-in.')
    if (returned instanceof Failure)
      return page(response, 200, 'Sign-in refused', 'Nothing was changed. You can close this page.')
    page(response, 200, 'Signed in', 'You can close this page and go back to the terminal.')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}${PATH}`,
    close: () => void server.close(),
    waitForResponse: (state, signal) =>
      new Promise((resolve, reject) => {
        const onTimeout = () =>
          reject(new Failure(EXIT.failed, 'the sign-in timed out', { code: 'sign_in_expired', hint: 'try again' }))
        if (signal.aborted) return onTimeout()
        signal.addEventListener('abort', onTimeout, { once: true })
        handleQuery = (query) => {
          const answer = parseResponse(query, state)
          if (answer instanceof Failure) reject(answer)
          else if (answer) resolve(answer)
          return answer
        }
      })
  }
}
