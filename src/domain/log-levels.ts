/** Levels of log messages in MCP, the least severe first. */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const isLogLevel = (value: unknown): value is string => typeof value === 'string' && levels.includes(value)

/** Whether a message is for those who asked for a level and above; one of an unknown level is for all. */
export const reaches = (level: unknown, asked: string) =>
  !isLogLevel(level) || levels.indexOf(level) >= levels.indexOf(asked)
