/** Paths of the MCP endpoints (http-contract.md#mcp-endpoints). Sessions and cursors are valid at one endpoint only. */
export const GLOBAL_ENDPOINT = '/mcp'
export const SSE_ENDPOINT = '/sse'

/** Path prefix of a group's endpoints. Group names need no escaping. */
const groupPath = (name: string) => `/v0/groups/${name}`

export const groupEndpoint = (name: string) => `${groupPath(name)}/mcp`

export const groupSseEndpoint = (name: string) => `${groupPath(name)}${SSE_ENDPOINT}`

const trailingSlash = /^((?:\/v0\/groups\/[^/?]+)?\/(?:mcp|sse|message))\/(?=\?|$)/

/** Removes one trailing slash from the path of an MCP endpoint. */
export const canonicalPath = (url: string): string => url.replace(trailingSlash, '$1')

/** Returns the path that clients of an SSE endpoint post their messages to. */
export const messagePath = (sse: string) => sse.replace(/sse$/, 'message')

/** Returns the name of the group that an endpoint serves; undefined for the global endpoints. */
export const groupOf = (endpoint: string): string | undefined => /^\/v0\/groups\/([^/]+)\//.exec(endpoint)?.[1]

/** Returns the URLs of a group's endpoints for the REST API, for clients that reach the gateway at `base`. */
export const groupAddresses = (base: string, name: string) => ({
  streamable_http_endpoint: `${base}${groupEndpoint(name)}`,
  sse_endpoint: `${base}${groupSseEndpoint(name)}`,
  sse_message_endpoint: `${base}${messagePath(groupSseEndpoint(name))}`
})
