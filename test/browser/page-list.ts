/** Hashes of pages that both mounts have; servers, tools and so on are those of `startHostile`. */
const shared = [
  ...['overview', 'servers', 'servers/hostile', 'servers/hostile?tab=prompts', 'servers/hostile?tab=calls'],
  ...[
    'servers/hostile?tab=settings',
    'servers/failing',
    'servers/failing?tab=log',
    'new/server',
    'new/server?tab=paste'
  ],
  ...[
    'catalogue',
    'tools',
    'tools/hostile__look',
    'prompts',
    'prompts/hostile__ask',
    'resources',
    'groups',
    'groups/all'
  ],
  ...['new/group', 'calls', 'calls?outcome=failed', 'diagnostics', 'connect', 'nowhere']
] as const

/** Pages of the console, for `startHostileConsole`. */
export const consolePages: readonly string[] = [
  ...shared,
  ...[
    'people',
    'people/mallory',
    'teams',
    'teams/platform',
    'clients',
    'oauth-clients',
    'policies',
    'policies?view=why'
  ],
  ...['policies/hostile-is-open', 'new/policy', 'definitions', 'approvals', 'audit', 'me']
]

export const dashboardPages: readonly string[] = shared

/** Widths of a desktop and of a phone. */
export const widths = [1_440, 390] as const
export const themes = ['light', 'dark'] as const
