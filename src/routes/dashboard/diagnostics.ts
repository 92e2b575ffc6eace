import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { isLoopback } from '../../domain/network/loopback.ts'
import { VERSION } from '../../domain/version.ts'
import { GLOBAL_ENDPOINT } from '../../catalog/endpoint.ts'
import { settings } from '../../config/settings.ts'
import type { Check } from '../../schemas/check.ts'
import { Diagnostics } from '../../schemas/dashboard/diagnostics.ts'
import { callerOf } from '../../plugins/auth.ts'
import { baseUrlOf } from '../base-url.ts'

const access = { access: 'auditor' } as const

function checkBind({ host }: Config): Check {
  const about = { id: 'bind', title: `The gateway listens on ${host}` }
  if (isLoopback(host)) return { ...about, status: 'pass' }
  const hint = 'Listen on 127.0.0.1, or use enterprise mode'
  return { ...about, status: 'warn', detail: 'Other machines can reach it, and it has no authentication', hint }
}

/** Names the folder with `~` for the home folder, whose name is often that of a person. */
function checkDataDirectory({ dataDir, databaseUrl }: Config): Check {
  const path = relative(homedir(), dataDir)
  const folder = path.startsWith('..') || isAbsolute(path) ? dataDir : join('~', path)
  const kept = databaseUrl === undefined ? 'The embedded store' : 'The encryption key file, unless a key is set,'
  return { id: 'data_directory', status: 'pass', title: `${kept} is in ${folder}` }
}

const checkTelemetry = ({ otel }: Config): Check => ({
  id: 'telemetry',
  status: 'pass',
  title: otel ? 'Metrics are served' : 'Metrics are off',
  ...(otel ? {} : { hint: 'Set OTEL_ENABLED=true to serve them at /metrics' })
})

const checkCallLog = ({ callLog }: Config): Check =>
  callLog.enabled
    ? callLog.contents
      ? { id: 'call_log', status: 'pass', title: 'Calls are recorded with arguments and results' }
      : {
          id: 'call_log',
          status: 'pass',
          title: 'Calls are recorded without arguments and results',
          hint: `Record one server for a time on its page, or set ${settings.callLogContents.variable}=on`
        }
    : { id: 'call_log', status: 'warn', title: 'Calls are not recorded', detail: 'The call log and charts stay empty' }

type Limit = keyof Config['limits'] | keyof Config['timeouts']

/** Returns the limits and timeouts in effect, with the environment variables that set them. */
const limitsOf = ({ limits, timeouts }: Config) =>
  (Object.entries({ ...limits, ...timeouts }) as [Limit, number | undefined][]).flatMap(([name, value]) =>
    value === undefined
      ? []
      : {
          name,
          variable: settings[name].variable,
          about: settings[name].about,
          value,
          ...(name.endsWith('Ms') ? { unit: 'ms' } : name.endsWith('Bytes') ? { unit: 'bytes' } : {})
        }
  )

/** Diagnostics: checks and settings in effect. Contains no secret, so that it can be shared in a bug report. */
export const diagnostics: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()

  /** Sends an invalid request through the MCP endpoint, which must answer 400; no client activity is recorded. */
  const checkEndpoint = async (): Promise<Check> => {
    const since = performance.now()
    const answer = await app.inject({
      method: 'POST',
      url: GLOBAL_ENDPOINT,
      headers: { host: 'localhost', 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      payload: '{}'
    })
    const ms = Math.round(performance.now() - since)
    const about = { id: 'mcp', ms }
    if (answer.statusCode === 400) return { ...about, status: 'pass', title: 'The MCP endpoint answers' }
    return { ...about, status: 'fail', title: `The MCP endpoint answers HTTP ${answer.statusCode}` }
  }

  app.get('/diagnostics', { config: access, schema: { response: { 200: Diagnostics } } }, async (request) => {
    const base = baseUrlOf(request, config.publicUrl)
    const caller = callerOf(request)
    const servers = await app.gateway.dashboard.servers(caller)
    return {
      version: VERSION,
      node_version: process.versions.node,
      mode: config.mode,
      database: config.databaseUrl === undefined ? ('embedded' as const) : ('postgresql' as const),
      enabled_transports: [
        'streamable_http' as const,
        'sse' as const,
        ...(config.stdio.enabled ? ['stdio' as const] : [])
      ],
      ...(config.otel ? { metrics_endpoint: `${base}/metrics` } : {}),
      primary_endpoint: `${base}${GLOBAL_ENDPOINT}`,
      started_at: startedAt,
      checks: [
        ...(config.mode === 'development' ? [checkBind(config)] : []),
        ...(config.mode === 'development' ? [checkDataDirectory(config)] : []),
        await checkEndpoint(),
        ...(await app.gateway.dashboard.checks(servers)),
        ...app.gateway.searchChecks(),
        checkCallLog(config),
        checkTelemetry(config)
      ],
      limits: limitsOf(config),
      ...app.gateway.dashboard.counts(caller)
    }
  })
}
