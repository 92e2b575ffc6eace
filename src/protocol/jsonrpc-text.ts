/**
 * Writes JSON-RPC messages as text. `id`, `params`, `result` and the body of a response are JSON text and are inserted
 * unchanged; methods and reasons are plain strings and are escaped.
 */

const paramsMember = (params: string) => (params === '' ? '' : `,"params":${params}`)

/** Returns a request; empty `params` are left out. */
export const requestText = (id: string | number, method: string, params = ''): string =>
  `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${paramsMember(params)}}`

/** Returns a notification; empty `params` are left out. */
export const notificationText = (method: string, params = ''): string =>
  `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${paramsMember(params)}}`

/** Returns the part of a response before its body, for a large body that is sent without copying. */
export const responseHead = (id: string, kind: 'result' | 'error'): string => `{"jsonrpc":"2.0","id":${id},"${kind}":`

/** The part of a response after its body. */
export const RESPONSE_TAIL = '}'

/** Returns a response whose result or error is given as JSON text. */
export const responseText = (id: string, kind: 'result' | 'error', body: string): string =>
  responseHead(id, kind) + body + RESPONSE_TAIL

/** Returns an error response; absent `data` is left out. */
export const errorText = (id: string, code: number, message: string, data?: unknown): string =>
  responseText(id, 'error', JSON.stringify({ code, message, ...(data === undefined ? {} : { data }) }))

/** Returns the params of `notifications/cancelled`. */
export const cancelledParams = (requestId: string | number, reason: string): string =>
  `{"requestId":${requestId},"reason":${JSON.stringify(reason)}}`
