/** How the name of its server begins an error: for JavaScript and PostgreSQL alike. */
export const SERVER_PREFIX = '^server "[^"]*": '

const prefix = new RegExp(SERVER_PREFIX)

/** What went wrong with a server, by its name. */
export const serverError = (server: string, message: string): string => `server "${server}": ${message}`

/** The same for where the server stands beside it; other errors stay as they are. */
export const withoutServer = (error: string): string => error.replace(prefix, '')
