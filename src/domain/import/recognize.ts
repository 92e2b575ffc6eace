import { isObject } from '../is-object.ts'
import { importServers, type ImportedServer, type ImportOptions } from './formats.ts'
import { readInstallLink } from './install-link.ts'

/** Body that is no registration, but that the import understands */
export interface RecognizedBody {
  /** Kind of text, with an article: `a command line`. */
  readonly kind: string
  readonly servers: readonly ImportedServer[]
}

const CONFIGURATION = 'the configuration of a client'
const maps = ['mcpServers', 'servers', 'context_servers', 'mcp.servers']

/** Returns true for the configuration of a client, which maps names to servers. */
const isConfiguration = (body: unknown): boolean =>
  isObject(body) && maps.some((key) => Object.hasOwn(body, key) && isObject(body[key]))

function kindOfText(text: string): string {
  const trimmed = text.trim()
  if (/^[[{"/]/.test(trimmed)) return 'JSON in a text'
  if (!/^\S+$/.test(trimmed)) return 'a command line'
  if (readInstallLink(trimmed)) return 'an install link'
  return /^https?:/i.test(trimmed) ? 'a URL' : 'a command line'
}

/** Recognizes the body of a registration request that is a text or the configuration of a client. Runs nothing. */
export function recognizeBody(body: unknown, options: ImportOptions): RecognizedBody | undefined {
  const text = typeof body === 'string' ? body : isConfiguration(body) ? JSON.stringify(body) : undefined
  if (text === undefined) return undefined
  const { servers } = importServers(text, options)
  const kind = typeof body === 'string' ? kindOfText(body) : CONFIGURATION
  return servers.length === 0 ? undefined : { kind, servers }
}
