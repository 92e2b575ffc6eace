import { secretName, secretsOfArguments, secretsOfUrl } from './secret-parts.ts'

/** Shorter values would be found by chance in text that has nothing to do with them. */
const MIN_LENGTH = 6

const quoted = (text: string) => JSON.stringify(text).slice(1, -1)

/** What base64 makes of a text that begins at any byte of what is encoded, without the characters at its ends that its
 * neighbours decide. */
function base64Forms(text: string): string[] {
  const cores = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from(`${' '.repeat(offset)}${text}`)
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })
  return [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))]
}

function urlForms(text: string): string[] {
  // half of a surrogate pair has no form in a URL
  const encoded = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
  const inForm = new URLSearchParams([[text, '']]).toString().slice(0, -1)
  return [encoded, encoded.replace(/%../g, (code) => code.toLowerCase()), inForm]
}

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A text as encoders of JSON write it: plain, all ASCII (Python), without `<>&` (Go), `='` (Gson) or a bare `/` (PHP). */
function jsonForms(text: string): string[] {
  const plain = quoted(text)
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

/** As JSON text, as part of a URL and in base64 a secret looks different. */
const forms = (secret: string) => [
  secret,
  ...jsonForms(secret),
  quoted(quoted(secret)),
  ...urlForms(secret),
  ...base64Forms(secret)
]

/** Every way in which secrets may stand in the bytes of a JSON message, without doubles. */
export const formsInJson = (secrets: readonly string[]): string[] => [
  ...new Set(secrets.flatMap(forms).flatMap(jsonForms))
]

/** Takes known secrets out of text that is shown or logged (security-model.md#secret-filter). */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.filter((secret) => secret.length >= MIN_LENGTH).flatMap(forms))]
  const longestFirst = known.sort((a, b) => b.length - a.length)
  return (text) => longestFirst.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

interface Secretive {
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_client_secret?: string
}

/** What of a server's settings can hold secrets. */
export interface Settings {
  readonly url?: string
  readonly args?: readonly string[]
}

/** Every value of a server's configuration that nobody else should read; of a header also what follows its scheme. */
export function secretsIn(config: Secretive, { url = '', args = [] }: Settings): string[] {
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

const secretText = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,}|\btwp_[\w-]{8,}/gi

/** Results often are JSON as text. */
function maskText(text: string): string {
  if (/^\s*[[{]/.test(text)) {
    try {
      return JSON.stringify(maskSecrets(JSON.parse(text)))
    } catch {
      // a text like any other
    }
  }
  return text.replace(secretText, (_, scheme?: string) => (scheme ? `${scheme} ***` : '***'))
}

/** A copy of JSON without what looks like a secret by its name or its form, for contents that are shown or stored. */
export function maskSecrets(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, secretName.test(name) ? '***' : maskSecrets(member)])
  )
}
