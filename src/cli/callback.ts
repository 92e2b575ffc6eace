import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TITLE } from '../domain/product.ts'
import { escapeText } from '../domain/text.ts'
import { EXIT, Failure } from './failure.ts'

const PATH = '/oauth/callback'
const BASE = 'http://127.0.0.1'

/** What an authorization server sent a browser back with. */
export interface Returned {
  readonly code: string
  readonly state: string
  readonly iss?: string
}

export interface Callback {
  readonly redirectUri: string
  /** The answer that carries `state`; rejects with a Failure where that is a no, or `signal` ends the waiting. */
  returned(state: string, signal: AbortSignal): Promise<Returned>
  close(): void
}

const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A page of fixed sentences: nothing of what came stands in it. */
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

/** RFC 6749 4.1.2: the code, or why there is none. Undefined for what is neither, or of another sign-in. */
function read(query: URLSearchParams, state: string): Returned | Failure | undefined {
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

/** Listens on this machine alone, on a port of its own, for the end of one sign-in (RFC 8252 7.3). */
export async function listenForCallback(): Promise<Callback> {
  let take: ((query: URLSearchParams) => Returned | Failure | undefined) | undefined
  const server = createServer((request, response) => {
    // any process and web page of this machine can connect: `//` for example is no URL
    const url = URL.canParse(request.url ?? '/', BASE) ? new URL(request.url ?? '/', BASE) : undefined
    if (request.method !== 'GET' || url?.pathname !== PATH)
      return page(response, 404, 'Not found', 'There is nothing here.')
    const returned = take?.(url.searchParams)
    if (returned === undefined)
      return page(response, 400, 'Not the answer', 'This is not the answer of the sign-in that is waited for.')
    if (returned instanceof Failure)
      return page(response, 200, 'The sign-in was refused', 'Nothing was registered. You can close this page.')
    page(response, 200, 'Signed in', 'You can close this page and go back to the terminal.')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}${PATH}`,
    close: () => void server.close(),
    returned: (state, signal) =>
      new Promise((resolve, reject) => {
        const late = () =>
          reject(new Failure(EXIT.failed, 'nobody signed in in time', { code: 'sign_in_expired', hint: 'try again' }))
        if (signal.aborted) return late()
        signal.addEventListener('abort', late, { once: true })
        take = (query) => {
          const answer = read(query, state)
          if (answer instanceof Failure) reject(answer)
          else if (answer) resolve(answer)
          return answer
        }
      })
  }
}
