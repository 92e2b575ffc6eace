import { isObject } from '../../domain/is-object.ts'
import { hostKey } from '../../domain/network/loopback.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { Connection } from '../io/connection.ts'

/** Kind of a failure, sent to the MCP client in `error.data.reason`. */
export type FailureReason =
  'unreachable' | 'lost' | 'auth' | 'refused' | 'overloaded' | 'too_large' | 'bad_response' | 'session'

/** A request that got no MCP answer. The text says what happened and the next step, and contains no secret. */
export class EndpointFailure extends Error {
  readonly reason: FailureReason
  /** Status of the HTTP response, if there was one. */
  readonly status: number | undefined

  constructor(reason: FailureReason, message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options)
    this.name = 'EndpointFailure'
    this.reason = reason
    this.status = options.status
  }
}

/** Codes of errors that happen before a byte of the request is sent. */
const unsentCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT'
])

const codeOf = (error: unknown): unknown =>
  error instanceof Error && isObject(error.cause) ? error.cause['code'] : undefined

/** Returns true if a failed `fetch` sent nothing, so that the request may be sent again whatever it does. */
export const isUnsent = (error: unknown): boolean => unsentCodes.has(codeOf(error))

/** Creates the failure of a gateway that cannot be connected to. */
export function unreachable({ registry, source }: Connection, cause: unknown): EndpointFailure {
  const isLocal = hostKey(new URL(registry).hostname) === 'localhost'
  const remedy = isLocal
    ? `start a gateway with \`${PRODUCT} start\``
    : `check that the gateway runs there${source === '--registry' ? '' : ', or pass another URL with --registry'}`
  const code = codeOf(cause)
  const why = code === 'ECONNREFUSED' ? 'connection refused' : code === 'ENOTFOUND' ? 'unknown host name' : code
  return new EndpointFailure(
    'unreachable',
    `cannot reach ${registry}${typeof why === 'string' ? `: ${why}` : ''}; ${remedy}`,
    { cause }
  )
}

/** Creates the failure of a request whose response did not arrive. The gateway may have carried it out. */
export const lost = (cause?: unknown): EndpointFailure =>
  new EndpointFailure(
    'lost',
    'the connection to the gateway was lost before the response; the request may have been carried out, so check before you repeat it',
    { cause }
  )

const tokenRemedy = ({ tokenSource }: Connection): string => {
  const given = tokenSource === undefined ? 'no token was sent' : `the token from ${tokenSource} was sent`
  return `${given}; set TOWPATH_TOKEN, in the configuration that starts this command, to the token of an MCP client (\`${PRODUCT} create mcp-client NAME --allow SERVERS\`)`
}

const reasons: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'auth',
  413: 'too_large',
  429: 'overloaded',
  503: 'overloaded'
}

/** Creates the failure for an HTTP error without a JSON-RPC body. `text`: its body. */
export function statusFailure(connection: Connection, status: number, text: string): EndpointFailure {
  const body = parseJson(text)
  if (!isObject(body) || typeof body['error'] !== 'string') {
    const said = status >= 300 && status < 400 ? `${status} (redirect)` : String(status)
    return new EndpointFailure(
      'bad_response',
      `${connection.registry} answered ${said}: this is not a gateway; check the URL, or pass another one with --registry`,
      { status }
    )
  }
  const remedy =
    status === 401
      ? tokenRemedy(connection)
      : status === 403 && /not initialized/.test(body['error'])
        ? `create the first administrator with \`${PRODUCT} init-server\``
        : status === 404
          ? `\`${PRODUCT} list groups\` shows the groups`
          : status === 429 || status === 503
            ? 'try again in a moment'
            : undefined
  return new EndpointFailure(
    reasons[status] ?? 'refused',
    `the gateway answered ${status}: ${body['error']}${remedy === undefined ? '' : `; ${remedy}`}`,
    { status }
  )
}

/** Parses JSON; undefined if it is malformed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
