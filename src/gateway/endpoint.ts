/**
 * Paths of the MCP endpoints (http-contract.md#mcp-endpoints); sessions and cursors are bound to the one that they were
 * made at.
 */
export const GLOBAL_ENDPOINT = '/mcp'
export const SSE_ENDPOINT = '/sse'

/** What a group's endpoints begin with. Names of groups need no escaping. */
const groupPath = (name: string) => `/v0/groups/${name}`

export const groupEndpoint = (name: string) => `${groupPath(name)}/mcp`

export const groupSseEndpoint = (name: string) => `${groupPath(name)}${SSE_ENDPOINT}`

const trailingSlash = /^((?:\/v0\/groups\/[^/?]+)?\/(?:mcp|sse|message))\/(?=\?|$)/

/** A request's path as it is known here: one slash behind that of an MCP endpoint means nothing. */
export const canonicalPath = (url: string): string => url.replace(trailingSlash, '$1')

/** Where clients post whose stream is at this endpoint. */
export const messagePath = (sse: string) => sse.replace(/sse$/, 'message')

/** Name of the group that an endpoint serves, undefined for the global ones. */
export const groupOf = (endpoint: string): string | undefined => /^\/v0\/groups\/([^/]+)\//.exec(endpoint)?.[1]

/** Addresses of a group's endpoints as REST shows them, for clients that reach the gateway under `base`. */
export const groupAddresses = (base: string, name: string) => ({
  streamable_http_endpoint: `${base}${groupEndpoint(name)}`,
  sse_endpoint: `${base}${groupSseEndpoint(name)}`,
  sse_message_endpoint: `${base}${messagePath(groupSseEndpoint(name))}`
})
