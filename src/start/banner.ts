import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { TITLE } from '../domain/product.ts'
import { VERSION } from '../domain/version.ts'
import { ifAvailable } from '../http/wait-for-database.ts'

const OLDEST_SUPPORTED_NODE = 22

/** Returns the URL of a listening address. */
export const baseUrl = ({ address, family, port }: AddressInfo) => {
  const shown = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return `http://${family === 'IPv6' && shown !== 'localhost' ? `[${shown}]` : shown}:${port}`
}

/** Names how the first person signs in at the console. */
function waysToSignIn({ auth, adminToken, adminTokenPlace }: Config): string {
  if (auth.oidc) return `people sign in at ${new URL(auth.oidc.issuer).host}`
  return adminToken === undefined
    ? 'it makes the first administrator, or you sign in with an access token'
    : `sign in with the access token in ${adminTokenPlace}`
}

/** Lines of the start: the address first, then what a person opens or types next. */
export function banner(config: Config, url: string, command: string, warnings: readonly string[]): string {
  const base = config.publicUrl ?? url
  const isDevelopment = config.mode === 'development'
  const next = isDevelopment
    ? [`${command} setup`, 'adds the servers of your MCP clients']
    : config.console
      ? ['open the console', waysToSignIn(config)]
      : [`${command} login`, 'saves your access token for the command line']
  return [
    `${TITLE} ${VERSION} listens on ${url} (${config.mode} mode)`,
    ...(isDevelopment ? [`  Dashboard     ${base}`] : []),
    ...(config.console ? [`  Console       ${base}/console/`] : []),
    `  MCP endpoint  ${base}/mcp`,
    `  REST API      ${base}/api/v0${config.docs === 'off' ? '' : `, described at ${base}/docs`}`,
    `  Store         ${config.databaseUrl ? 'PostgreSQL' : `embedded, in ${config.dataDir}`}`,
    `  Next          ${next[0]}  (${next[1]})`,
    ...warnings.map((warning) => `  warning: ${warning}`)
  ].join('\n')
}

/**
 * Warns of an uninitialised enterprise gateway, whose first caller of `POST /init` becomes its administrator. No
 * warning while the database is unavailable, since the state is unknown.
 */
export function initWarnings(app: FastifyInstance, { mode, host, initSecret }: Config): string[] {
  if (mode === 'development' || ifAvailable(() => app.gateway.initialized) !== false) return []
  if (isLoopback(host) || initSecret !== undefined)
    return ['not initialized: create the first administrator with `towpath init-server` or POST /init']
  return [
    'not initialized: anyone who reaches this port can claim the administrator account; run `towpath init-server` now, ' +
      'and next time set TOWPATH_INIT_SECRET or TOWPATH_ADMIN_TOKEN before the start'
  ]
}

export function nodeWarnings(): string[] {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= OLDEST_SUPPORTED_NODE) return []
  return [`Node.js ${node} no longer gets security fixes; use ${OLDEST_SUPPORTED_NODE} or newer`]
}
