import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'

/** Returns true if the server is failing or waits for a sign-in. */
export const needsAttention = ({ status }: ServerView): boolean => status === 'failing' || status === 'sign_in_needed'

/** Returns the URL or command of a server without secrets. */
export const targetOf = ({ config_summary: { target, command = '', argument_count = 0 } }: ServerView): string =>
  target ??
  (argument_count > 0 ? `${command} (${argument_count} ${argument_count === 1 ? 'argument' : 'arguments'})` : command)
