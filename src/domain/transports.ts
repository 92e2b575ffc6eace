/** Transports over which the gateway reaches servers; schemas, command line and dashboard offer these. */
export const TRANSPORTS = ['stdio', 'streamable_http', 'sse'] as const
export type Transport = (typeof TRANSPORTS)[number]
