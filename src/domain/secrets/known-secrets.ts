import { secretArguments, secretNamePattern, urlsInArguments } from './secret-parts.ts'

/** Parts of a server's configuration that may contain secrets */
export interface Configuration {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
  readonly url?: string
  readonly args?: readonly string[]
}

/** Minimum length; shorter values occur in unrelated results by chance */
const MIN_LENGTH = 8
/** Minimum length of numbers, since dates, sizes and identifiers are numbers too */
const MIN_NUMBER_LENGTH = 12

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

const isNumber = (value: string) => /^[\d.,:+-]+$/.test(value) && value.length < MIN_NUMBER_LENGTH
const isUrl = (value: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(value) && URL.canParse(value)
const isPath = (value: string) => /^(?:~|\.{1,2})?\/|^[A-Za-z]:\\/.test(value)
const namesPath = (name: string) => /(?:file|path|dir|folder|home|credentials)$/i.test(name)

/**
 * Returns true for words, regions, models, hosts, media types, versions and lists of these, the contents of most
 * variables.
 */
const isOrdinary = (value: string) =>
  /^[A-Za-z\s._,-]+$/.test(value) ||
  value.split(/[\s._:/,;=-]+/).every((part) => /^(?:[a-z]*\d{0,4}[a-z]?|\d+)$/.test(part))

/** Returns the password of a URL, and the parameters whose name or value is that of a secret. */
function searchableSecretsOfUrl(text: string): string[] {
  if (!isUrl(text)) return []
  const { password, searchParams } = new URL(text)
  const query = [...searchParams].flatMap(([name, value]) =>
    secretNamePattern.test(name) || !isOrdinary(value) ? [value] : []
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

/** Returns the value of a header, the part after its scheme, and the password of Basic authentication. */
function secretsOfHeader([name, value]: readonly [string, string]): string[] {
  if (ordinaryHeaders.has(name.toLowerCase())) return []
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.+)$/s.exec(value) ?? []
  if (scheme.toLowerCase() !== 'basic') return rest === '' ? [value] : [value, rest]
  const password = Buffer.from(rest, 'base64').toString().split(':').slice(1).join(':')
  return [value, rest, password]
}

function secretsOfVariable([name, value]: readonly [string, string]): string[] {
  if (isUrl(value))
    return secretNamePattern.test(name) ? [value, ...searchableSecretsOfUrl(value)] : searchableSecretsOfUrl(value)
  if (secretNamePattern.test(name)) return namesPath(name) && isPath(value) ? [] : [value]
  return isOrdinary(value) || isPath(value) ? [] : [value]
}

/**
 * Returns the values of a server's configuration to search for in its results (`TOWPATH_RESULT_SECRETS`): those with
 * secret names, and those that look like keys. Excludes values under 8 characters, numbers under 12 digits, common
 * words, paths and ordinary settings such as `eu-west-1`, which results contain by chance.
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
    ...[url, ...urlsInArguments(args)].flatMap(searchableSecretsOfUrl),
    ...secretArguments(args)
  ]
  const isSearched = (value: string) =>
    value.length >= MIN_LENGTH && !isNumber(value) && !commonWords.has(value.toLowerCase())
  return [...new Set(values)].filter(isSearched)
}
