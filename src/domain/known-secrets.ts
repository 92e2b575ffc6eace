import { secretArguments, secretName, urlsInArguments } from './secret-parts.ts'

/** The parts of a server's configuration that can hold secrets. */
export interface Configuration {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
  readonly url?: string
  readonly args?: readonly string[]
}

/** Shorter values occur by chance in results that have nothing to do with them. */
const SHORTEST = 8
/** Dates, sizes and identifiers are numbers too. */
const SHORTEST_NUMBER = 12

const ordinaryHeaders = new Set(
  'accept accept-charset accept-encoding accept-language cache-control content-type origin referer user-agent'.split(
    ' '
  )
)

const commonWords = new Set(
  (
    'administrator anonymous application authorization changeme changeit debugging default1 dev-token development disabled ' +
    'username localhost optional password password1 password123 postgres postgresql production required staging-env ' +
    'undefined unlimited testtest test-token test1234 changeme123 secret123 internal external customer'
  ).split(' ')
)

const isNumber = (value: string) => /^[\d.,:+-]+$/.test(value) && value.length < SHORTEST_NUMBER
const isUrl = (value: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(value) && URL.canParse(value)
const isPath = (value: string) => /^(?:~|\.{1,2})?\/|^[A-Za-z]:\\/.test(value)
const namesPath = (name: string) => /(?:file|path|dir|folder|home|credentials)$/i.test(name)

/** Words, names of regions, models, hosts, media types, versions, lists of such: what most variables hold. */
const isOrdinary = (value: string) =>
  /^[A-Za-z\s._,-]+$/.test(value) ||
  value.split(/[\s._:/,;=-]+/).every((part) => /^(?:[a-z]*\d{0,4}[a-z]?|\d+)$/.test(part))

/** The password and the secret parameters of a URL. */
function secretsOfUrl(text: string): string[] {
  if (!isUrl(text)) return []
  const { password, searchParams } = new URL(text)
  const query = [...searchParams].flatMap(([name, value]) =>
    secretName.test(name) || !isOrdinary(value) ? [value] : []
  )
  return [...(password === '' ? [] : [password, decoded(password)]), ...query]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The value of a header, what follows its scheme, and the password of Basic authentication. */
function secretsOfHeader([name, value]: readonly [string, string]): string[] {
  if (ordinaryHeaders.has(name.toLowerCase())) return []
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.+)$/s.exec(value) ?? []
  if (scheme.toLowerCase() !== 'basic') return rest === '' ? [value] : [value, rest]
  const password = Buffer.from(rest, 'base64').toString().split(':').slice(1).join(':')
  return [value, rest, password]
}

function secretsOfVariable([name, value]: readonly [string, string]): string[] {
  if (isUrl(value)) return secretName.test(name) ? [value, ...secretsOfUrl(value)] : secretsOfUrl(value)
  if (secretName.test(name)) return namesPath(name) && isPath(value) ? [] : [value]
  return isOrdinary(value) || isPath(value) ? [] : [value]
}

/**
 * Values of a server's configuration that are searched in what it answers (`TOWPATH_RESULT_SECRETS`): those that are
 * called secret, and those that look like keys. Values under 8 characters, numbers under 12 digits, common words, paths
 * and plain settings such as `eu-west-1` are left out: results hold them by chance.
 */
export function searchableSecrets(config: Configuration, tokens: readonly string[] = []): string[] {
  const {
    bearer_token: token = '',
    headers = {},
    env = {},
    oauth_client_secret: client = '',
    url = '',
    args = []
  } = config
  const values = [
    ...tokens,
    token,
    client,
    ...Object.entries(headers).flatMap(secretsOfHeader),
    ...Object.entries(env).flatMap(secretsOfVariable),
    ...[url, ...urlsInArguments(args)].flatMap(secretsOfUrl),
    ...secretArguments(args)
  ]
  const isSearched = (value: string) =>
    value.length >= SHORTEST && !isNumber(value) && !commonWords.has(value.toLowerCase())
  return [...new Set(values)].filter(isSearched)
}
