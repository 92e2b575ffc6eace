export const META = 'io.modelcontextprotocol/'
export const MODERN = '2026-07-28'

/** `params` of a request. */
export interface Params {
  readonly name?: string
  readonly uri?: string
  readonly taskId?: string
  readonly _meta?: object
  readonly [member: string]: unknown
}

/** Value of `Accept` for both response types. */
export const both = 'application/json, text/event-stream'

export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  'content-type': 'application/json',
  accept: both,
  'mcp-protocol-version': MODERN,
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name })
})

export const modernBody = (method: string, params: Params = {}, id: unknown = 7) => {
  const _meta = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {}, ...params._meta }
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
}

/** Capabilities of a modern client with the tasks extension, as a member of `_meta`. */
export const withTasks = { [`${META}clientCapabilities`]: { extensions: { [`${META}tasks`]: {} } } }

export const legacyBody = (method: string, params: object = {}, id: unknown = 7) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
