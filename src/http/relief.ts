const readRoutes =
  /^\/api\/(?:v0|dashboard|console)\/(?:servers|server_configs|tool-groups|users|clients|audit|calls|stats|overview|diagnostics|events)(?:\/|$)/
const dashboardPages = /^\/(?:(?:index\.html)?$|assets\/|console(?:\/|$))/
const writeMethods = new Set(['DELETE', 'PUT', 'PATCH'])

/**
 * True if an administrator can use the route to find or remove the cause of an overload: such requests are admitted
 * while other new work is refused. `url` is the route's pattern.
 */
export function isReliefRoute(method: string, url: string): boolean {
  if (writeMethods.has(method)) return url.startsWith('/api/')
  if (method === 'POST') return /^\/api\/v0\/.+\/(?:disable|refresh)$/.test(url)
  return readRoutes.test(url) || dashboardPages.test(url)
}
