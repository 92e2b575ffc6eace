import { tokenScopes, type TokenScope } from '../domain/access/access.ts'
import { isName } from '../domain/names.ts'

const API = '/api'
const endpoint = /^(?:\/mcp|\/sse|\/v0\/groups\/([^/]+)\/(?:mcp|sse))$/

/** Returns the address of an endpoint, by which clients ask for tokens (RFC 8707). */
export const resourceOf = (publicUrl: string, path: string): string => `${publicUrl}${path}`

/**
 * Returns the canonical address of the endpoint that a client names: letter case of scheme and host and a slash at the
 * end do not matter (MCP authorization, Canonical Server URI). Undefined if the gateway has no such endpoint.
 */
export function canonicalResource(publicUrl: string, given: string): string | undefined {
  if (given.length > 2_048 || !URL.canParse(given) || /[?#\\]/.test(given)) return undefined
  // the consent page shows the address as it was given
  if (/(?:\/|%2f)(?:\.|%2e)/i.test(given)) return undefined
  const { href, username, password } = new URL(given)
  if (username !== '' || password !== '') return undefined
  const base = new URL(publicUrl).href.replace(/\/$/, '')
  const text = href.replace(/\/$/, '')
  if (text !== base && !text.startsWith(`${base}/`)) return undefined
  const path = text.slice(base.length)
  if (path === '') return resourceOf(publicUrl, '/mcp')
  if (path === API) return resourceOf(publicUrl, API)
  const match = endpoint.exec(path)
  if (!match) return undefined
  const [, group] = match
  return group === undefined || isName(group) ? resourceOf(publicUrl, path) : undefined
}

/** Scopes that tokens for an endpoint can have, besides those of policies: of the REST interface, or of MCP. */
export const scopesOf = (publicUrl: string, resource: string): readonly TokenScope[] =>
  resource === resourceOf(publicUrl, API) ? tokenScopes.filter((scope) => scope !== 'mcp') : ['mcp']
