/** Pattern of the server name at the start of an error, valid in JavaScript and PostgreSQL */
export const SERVER_PREFIX = '^server "[^"]*": '

const prefix = new RegExp(SERVER_PREFIX)

/** Formats an error message of a server. */
export const serverError = (server: string, message: string): string => `server "${server}": ${message}`

/** Removes the server name from an error message, for display beside the server; other messages stay unchanged. */
export const withoutServerPrefix = (error: string): string => error.replace(prefix, '')
