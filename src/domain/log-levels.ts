/** MCP log levels, least severe first */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const isLogLevel = (value: unknown): value is string => typeof value === 'string' && levels.includes(value)

/** Returns true if a message has at least the requested level; messages of unknown levels always pass. */
export const isAtLeastLevel = (level: unknown, minimum: string) =>
  !isLogLevel(level) || levels.indexOf(level) >= levels.indexOf(minimum)
