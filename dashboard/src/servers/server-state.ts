import type { ConfigSummary, ServerView } from '../../../src/schemas/dashboard/servers.ts'

/** Returns true if the server is failing or waits for a sign-in. */
export const needsAttention = ({ status }: ServerView): boolean => status === 'failing' || status === 'sign_in_needed'

const quote = (argument: string): string => (/^$|\s/.test(argument) ? JSON.stringify(argument) : argument)

/** Returns the URL, or the command with its arguments, without secrets. */
export const targetOf = ({ target, command = '', args = [] }: ConfigSummary): string =>
  target ?? [command, ...args.map(quote)].join(' ')
