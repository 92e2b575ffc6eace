/** Kind of resource in commands; singular and plural are both accepted. */
export interface Kind {
  readonly singular: string
  readonly plural: string
  readonly aliases: readonly string[]
  /** REST path of the list. */
  readonly path: string
}

const kind = (singular: string, path: string, aliases: readonly string[] = [], plural = `${singular}s`): Kind => ({
  singular,
  plural,
  aliases,
  path
})

export const KINDS = {
  server: kind('server', '/api/v0/servers'),
  tool: kind('tool', '/api/v0/tools'),
  prompt: kind('prompt', '/api/v0/prompts'),
  resource: kind('resource', '/api/v0/resources'),
  skill: kind('skill', '/api/v0/skills'),
  group: kind('group', '/api/v0/tool-groups', ['tool-group', 'tool-groups']),
  client: kind('mcp-client', '/api/v0/clients', ['client', 'clients']),
  user: kind('user', '/api/v0/users')
} as const

export type KindName = keyof typeof KINDS

/**
 * Kinds of resources that files declare, in the order in which changes are made: who may use something is settled before
 * it is there, and a team has members.
 */
export const FILE_KINDS = ['user', 'team', 'policy', 'server', 'group', 'client'] as const
export type FileKind = (typeof FILE_KINDS)[number]

export const DECLARED: Readonly<Record<FileKind, Kind>> = {
  user: KINDS.user,
  team: kind('team', '/api/v0/teams'),
  policy: kind('policy', '/api/v0/policies', [], 'policies'),
  server: KINDS.server,
  group: KINDS.group,
  client: KINDS.client
}

const pathIn = ({ path }: Kind, item: string): string => `${path}/${encodeURIComponent(item)}`

/** Returns the REST path of one resource. */
export const itemPath = (name: KindName, item: string): string => pathIn(KINDS[name], item)

/** Returns the REST path of one resource that a file declares. */
export const declaredPath = (name: FileKind, item: string): string => pathIn(DECLARED[name], item)
