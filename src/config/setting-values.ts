import { parseEgressEntry } from '../domain/network/egress.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { isToken, TOKEN_RULE } from '../domain/tokens.ts'

/** An invalid value. `readConfig` prefixes the message with the name of the variable or flag. */
export class SettingError extends Error {}

const fail = (rule: string): never => {
  throw new SettingError(rule)
}

/**
 * Parsers of settings: each takes the given text and returns the value or throws a SettingError that states the rule.
 */
export const text = (value: string) => value

export const oneOf =
  <const T extends readonly string[]>(...values: T) =>
  (given: string): T[number] =>
    values.find((value) => value === given.toLowerCase()) ?? fail(`must be one of ${values.join(', ')}`)

export const integer = (min: number, max: number) => (given: string) => {
  const value = /^\d{1,15}$/.test(given) ? Number(given) : NaN
  return value >= min && value <= max ? value : fail(`must be a whole number from ${min} to ${max}`)
}

const flags: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  1: true,
  yes: true,
  false: false,
  off: false,
  0: false,
  no: false
}
export const onOff = (given: string) => flags[given.toLowerCase()] ?? fail('must be on or off')

const list = (given: string): readonly string[] =>
  given
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

const parsedUrl = (given: string, rule: string): URL => {
  const url = URL.canParse(given) ? new URL(given) : fail(rule)
  return url
}

export const databaseUrl = (given: string) => {
  const rule = 'must be a postgres://… URL'
  if (!['postgres:', 'postgresql:'].includes(parsedUrl(given, rule).protocol)) fail(rule)
  return given
}

export const publicUrl = (given: string) => {
  const rule = 'must be an http:// or https:// URL without user, query and fragment'
  const url = parsedUrl(given, rule)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) fail(rule)
  return url.href.replace(/\/+$/, '')
}

/** URL of a client metadata document: `https`, with a path (draft-ietf-oauth-client-id-metadata-document). */
export const clientDocumentUrl = (given: string) => {
  const rule = 'must be an https:// URL with a path, without user and fragment'
  const url = parsedUrl(given, rule)
  const isPlain = url.protocol === 'https:' && !url.username && !url.password && !url.hash && url.pathname !== '/'
  return isPlain && url.href === given ? given : fail(rule)
}

/** Issuer of an OpenID provider, compared byte by byte with the `iss` of its tokens (OpenID Connect Discovery 1.0, 2). */
export const issuer = (given: string) => {
  const rule = 'must be an https:// URL (http:// for a loopback address) without query and fragment'
  const url = parsedUrl(given, rule)
  const isSecure = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  return isSecure && !url.username && !url.password && !url.search && !url.hash ? given : fail(rule)
}

/** Such issuers, separated by commas. */
export const issuers = (given: string) => list(given).map(issuer)

/** Values of the claim `aud` (RFC 7519 4.1.3), separated by commas; at least one. */
export const audiences = (given: string) => {
  const all = list(given)
  const isUsable = all.length > 0 && all.every((each) => /^[\x21-\x7e]{1,512}$/.test(each))
  return isUsable ? all : fail('must list audiences such as api://towpath, separated by commas')
}

/** Scopes (RFC 6749 3.3), separated by spaces. */
export const scopes = (given: string) =>
  /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(given)
    ? given
    : fail('must list scopes, separated by spaces')

/** Texts separated by commas, such as names of groups. */
export const names = (given: string) => list(given)

/** Scheme names without the colon (RFC 3986 3.1). */
export const schemes = (given: string) =>
  list(given).map((entry) =>
    /^[a-z][a-z0-9+.-]{0,63}$/i.test(entry) && !/^(?:https?|javascript|data|file|blob|about|vbscript)$/i.test(entry)
      ? entry.toLowerCase()
      : fail('must list private URI schemes such as cursor, separated by commas')
  )

export const otlpEndpoint = (given: string) => {
  const rule = 'must be an http:// or https:// URL'
  if (!/^https?:$/.test(parsedUrl(given, rule).protocol)) fail(rule)
  return given
}

export const origins = (given: string) =>
  list(given).map((entry) => {
    const rule = 'must list origins such as https://app.example.com, separated by commas'
    const url = parsedUrl(entry, rule)
    return /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` ? url.origin : fail(rule)
  })

export const hosts = (given: string) =>
  list(given).map((entry) =>
    /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])$/i.test(entry)
      ? entry.toLowerCase()
      : fail('must list host names without scheme and port, separated by commas')
  )

export const databaseHost = (given: string) =>
  /^[a-z0-9_.-]+$|^[0-9a-f:.]+$|^\//i.test(given)
    ? given
    : fail('must be a host name, an IP address or a socket folder')

export const commands = (given: string) =>
  list(given).map((entry) => (entry.startsWith('/') ? entry : fail('must list absolute paths, separated by commas')))

export const patterns = (given: string) =>
  list(given).map((entry) =>
    /^[a-z0-9*._/-]{1,200}$/i.test(entry) && (entry.match(/\*/g) ?? []).length <= 4
      ? entry
      : fail('must list names or patterns such as io.github.owner/*, separated by commas')
  )

export const egress = (given: string) =>
  list(given).map(
    (entry) =>
      parseEgressEntry(entry) ??
      fail('must list networks such as 10.0.0.0/8, host names, "private" or "loopback", separated by commas')
  )

export const proxies = (given: string) =>
  list(given).map((entry) => {
    const rules = parseEgressEntry(entry) ?? []
    const isUsable = rules.length > 0 && rules.every((rule) => rule.kind === 'network' && rule.prefix > 0)
    if (isUsable) return rules
    return fail('must list addresses and networks such as 10.0.0.0/8, "private" or "loopback", separated by commas')
  })

export const key = (given: string) => {
  if (/^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, 'hex')
  const bytes = Buffer.from(given, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === given
    ? bytes
    : fail('must be 32 bytes as base64 or as 64 hexadecimal digits')
}

export const token = (given: string) => (isToken(given) ? given : fail(TOKEN_RULE))

/** Credential of another service, which says how long it is. */
export const bearer = (given: string) =>
  /^[\x21-\x7e]{1,1024}$/.test(given) ? given : fail('must be visible ASCII characters without white space')

export const modelName = (given: string) =>
  /^[\x21-\x7e]{1,200}$/.test(given) ? given : fail('must be the name of a model, such as nomic-embed-text')

export const port = integer(0, 65_535)
export const duration = integer(1, 86_400_000)
export const bytes = integer(1_024, 1_073_741_824)
export const count = integer(1, 1_000_000)
export const id = integer(0, 4_294_967_294)
