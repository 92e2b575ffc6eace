import { MASK, secretNamePattern, secretsOfArguments, secretsOfUrl } from './secret-parts.ts'
import { privateKeyForm, tokenForm, userInformation } from './token-forms.ts'

/** Minimum length; shorter values occur in unrelated text by chance */
const MIN_LENGTH = 6

const jsonEscaped = (text: string) => JSON.stringify(text).slice(1, -1)

/**
 * Returns the base64 forms of a text at each of three byte offsets, without the characters at both ends that depend on
 * neighbouring bytes.
 */
function base64Forms(text: string): string[] {
  const cores = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from(`${' '.repeat(offset)}${text}`)
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })
  return [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))]
}

function urlForms(text: string): string[] {
  // A lone surrogate cannot be encoded in a URL.
  const encoded = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
  const inForm = new URLSearchParams([[text, '']]).toString().slice(0, -1)
  return [encoded, encoded.replace(/%../g, (code) => code.toLowerCase()), inForm]
}

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Returns the forms that JSON encoders produce: plain, all ASCII (Python), escaped `<>&` (Go), also `='` (Gson),
 * escaped `/` (PHP).
 */
function jsonForms(text: string): string[] {
  const plain = jsonEscaped(text)
  const ascii = plain.replace(/[^\x20-\x7e]/g, unicode)
  return [
    plain,
    ascii,
    ascii.replace(/\\u[\da-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    plain.replace(/[<>&\u2028\u2029]/g, unicode),
    plain.replace(/[<>&='\u2028\u2029]/g, unicode),
    plain.replaceAll('/', String.raw`\/`),
    ascii.replaceAll('/', String.raw`\/`)
  ]
}

/** Returns the forms of a secret in plain text, in JSON, in URLs and in base64. */
const encodedForms = (secret: string) => [
  secret,
  ...jsonForms(secret),
  jsonEscaped(jsonEscaped(secret)),
  ...urlForms(secret),
  ...base64Forms(secret)
]

/** Returns all forms that secrets may have in the bytes of a JSON message, without duplicates. */
export const formsInJson = (secrets: readonly string[]): string[] => [
  ...new Set(secrets.flatMap(encodedForms).flatMap(jsonForms))
]

/** Returns a function that replaces known secrets in displayed or logged text (security-model.md#secret-filter). */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.filter((secret) => secret.length >= MIN_LENGTH).flatMap(encodedForms))]
  const longestFirst = known.sort((a, b) => b.length - a.length)
  return (text) => longestFirst.reduce((shown, secret) => shown.replaceAll(secret, MASK), text)
}

interface SecretMembers {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
}

/** Settings that may contain secrets */
export interface ReadableSettings {
  readonly url?: string
  readonly args?: readonly string[]
}

/** Returns all secret values of a server's configuration; for headers also the part after the scheme. */
export function secretsIn(config: SecretMembers, { url = '', args = [] }: ReadableSettings): string[] {
  const { bearer_token: token, headers = {}, env = {}, oauth_client_secret: client } = config
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^\S+\s+/, '')])
  return [
    token ?? '',
    client ?? '',
    ...values,
    ...Object.values(env),
    ...secretsOfUrl(url),
    ...secretsOfArguments(args)
  ]
}

const schemeText = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi
const secretText = new RegExp(`${privateKeyForm}|${tokenForm}|${userInformation}`, 'g')
/** Name of a secret, `=` and its value, as in connection strings and queries */
const pairText =
  /((?:^|[;,&?\s"'])[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access)[-_]?key)=)("[^"]*|'[^']*|[^\s;,&"']+)/gi

/**
 * Masks everything in a text that has the form of a secret: well-known tokens, private keys, `Bearer …` and `Basic …`,
 * user information of URLs, and `password=…`. Takes time in proportion to the text.
 */
export const maskSecretText = (text: string): string =>
  text
    .replace(schemeText, `$1 ${MASK}`)
    .replace(secretText, MASK)
    .replace(pairText, (_, name: string, value: string) => `${name}${/^["']/.exec(value)?.[0] ?? ''}${MASK}`)

/** Masks secrets in a text; results are often JSON as text, which is parsed first. */
function maskText(text: string): string {
  if (/^\s*[[{]/.test(text)) {
    try {
      return JSON.stringify(maskSecrets(JSON.parse(text)))
    } catch {
      // Not JSON: masked as plain text.
    }
  }
  return maskSecretText(text)
}

/** Returns a copy of a JSON value in which everything that looks like a secret, by its name or form, is masked. */
export function maskSecrets(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return withUniqueNames(
    Object.entries(value).map(([name, member]) => [
      maskSecretText(name),
      secretNamePattern.test(name) ? MASK : maskSecrets(member)
    ])
  )
}

/** Returns an object of all members: one whose masked name is that of another would hide it. */
function withUniqueNames(members: readonly (readonly [name: string, value: unknown])[]): object {
  const used = new Set<string>()
  const uniqueName = (name: string) => {
    let unique = name
    for (let count = 2; used.has(unique); count++) unique = `${name} (${count})`
    used.add(unique)
    return unique
  }
  return Object.fromEntries(members.map(([name, value]) => [uniqueName(name), value]))
}
