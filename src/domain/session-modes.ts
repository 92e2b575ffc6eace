/** How long a session with a server lives (session-modes.md); schemas, command line and dashboard offer these. */
export const SESSION_MODES = ['stateless', 'stateful', 'shared'] as const
export type SessionMode = (typeof SESSION_MODES)[number]
