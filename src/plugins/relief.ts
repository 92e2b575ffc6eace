const finding =
  /^\/api\/(?:v0|dashboard|console)\/(?:servers|server_configs|tool-groups|users|clients|audit|calls|stats|overview|diagnostics|events)(?:\/|$)/
const pages = /^\/(?:(?:index\.html)?$|assets\/|console(?:\/|$))/
const changing = new Set(['DELETE', 'PUT', 'PATCH'])

/**
 * Whether a route lets an administrator find or remove what takes too much: such requests are admitted while other new
 * work is refused. `url` is the route's pattern.
 */
export function relieves(method: string, url: string): boolean {
  if (changing.has(method)) return url.startsWith('/api/')
  if (method === 'POST') return /^\/api\/v0\/.+\/(?:disable|refresh)$/.test(url)
  return finding.test(url) || pages.test(url)
}
