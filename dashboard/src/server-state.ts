import type { ServerView } from '../../src/schemas/dashboard/servers.ts'

/** Whether a person should look at it. */
export const needsAttention = ({ status }: ServerView): boolean => status === 'failing' || status === 'sign_in_needed'

/** Where it is reached: URL or command, without what may be secret. */
export const targetOf = ({ config_summary: { target, command = '', argument_count = 0 } }: ServerView): string =>
  target ??
  (argument_count > 0 ? `${command} (${argument_count} ${argument_count === 1 ? 'argument' : 'arguments'})` : command)
