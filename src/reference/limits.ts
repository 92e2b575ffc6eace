import { settings, type Setting } from '../config/settings.ts'

const settingsOf = (...names: (keyof typeof settings)[]): Setting[] => names.map((name) => settings[name])

const parts: Readonly<Record<string, readonly Setting[]>> = {
  Requests: settingsOf(
    'restBodyBytes',
    'mcpBodyBytes',
    'jsonDepth',
    'jsonElements',
    'batch',
    'batchBytes',
    'identifierBytes',
    'headerBytes',
    'requestBodyMs',
    'failedAuthentications'
  ),
  Connections: settingsOf('connections', 'connectionsPerAddress', 'pipelinedRequests', 'unsentBytes', 'unreadAnswerMs'),
  'Calls and upstreams': settingsOf(
    ...([
      'connectMs',
      'callTimeoutMs',
      'callTotalMs',
      'upstreamResponseBytes',
      'pendingBytes',
      'callsPerPrincipal',
      'callBytes'
    ] as const),
    ...(['stdioProcesses', 'stdioProcessesPerPrincipal', 'stdioQueue', 'spareSessions'] as const),
    ...(['upstreamSessions', 'upstreamSessionsPerPrincipal', 'oauthSessionMs'] as const)
  ),
  'Sessions and streams': settingsOf(
    ...([
      'sessions',
      'sessionsPerPrincipal',
      'subscriptionsPerPrincipal',
      'subscriptionBytes',
      'sessionIdleMs',
      'taskHandleDays',
      'streamBufferBytes'
    ] as const)
  ),
  'The process and its database': settingsOf(
    ...([
      'heapPercent',
      'memoryPercent',
      'memoryLimitBytes',
      'eventLoopLagMs',
      'databaseConnectMs',
      'databaseQueryMs',
      'staleLimitS',
      'drainMs'
    ] as const)
  )
}

const row = ({ variable, fallback, otherwise, about }: Setting) =>
  `| ${about} | ${fallback === undefined ? (otherwise ?? 'none') : `\`${fallback}\``} | \`${variable}\` |`

/** Returns the text of docs/reference/limits.md. */
export const limitsReference = (): string =>
  `# Limits

Everything that grows has a limit, and each limit is a setting. Times in \`…_MS\` are milliseconds, sizes are bytes. Limits
apply to one process. How they work together: [limits, overload and faults](../explanation/reliability.md). Responses past a
limit: [errors](errors.md). State that outlives a request, and who pays for it: [every bound](bounds.md).

This page is generated from \`src/config/settings.ts\`.

${Object.entries(parts)
  .map(
    ([title, list]) =>
      `## ${title}\n\n<!-- prettier-ignore -->\n| Limit | Default | Setting |\n|---|---|---|\n${list.map(row).join('\n')}`
  )
  .join('\n\n')}
`
