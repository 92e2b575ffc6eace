import { privateKeyForm, tokenForm, userInformation } from './token-forms.ts'

/** Replacement for secrets in every configuration that is displayed or stored readable */
export const MASK = '***'

/** Members of any configuration whose values are secret */
export const secretMembers: ReadonlySet<string> = new Set(['bearer_token', 'oauth_client_secret', 'access_token'])
/** Members of a configuration that are maps with secret values; their names are shown */
export const secretMaps: ReadonlySet<string> = new Set(['headers', 'env', 'locks'])

/** Names whose values are treated as secrets */
export const secretNamePattern =
  /passw|passphrase|secret|token|api[-_]?key|authorization|cookie|credential|private[-_]?key/i

/** Further names of flags and variables whose values are treated as secrets: `--pass`, `--basic-auth`, `PGPASS` */
const shortNamePattern = /(?:^|[-_.])(?:pass|pwd|auth|key|pat|creds?|bearer|jwt)$|^[A-Z]{2,8}(?:PASS|PWD)$/i
/** Flags with a user and a password: `-u user:password` */
const userFlag = /^(?:-u|--user(?:name)?)$/

/** Returns true if the value of a flag or variable is treated as a secret. */
const namesSecret = (name: string) =>
  !name.startsWith('--no-') && (secretNamePattern.test(name) || shortNamePattern.test(name))

/** Self-describing credentials: `Bearer …`, and the tokens of well-known services */
const tokenPattern = new RegExp(
  `(?:^|(?<=[^A-Za-z0-9_]))(?:Bearer|Basic)\\s+(?=[\\w.~+/=-]{6})|${tokenForm}|${privateKeyForm}|${userInformation}`
)

/** Name of a secret and what separates it from its value, within a text: `Server=db;Password=…`, `host=db password=…` */
const pairPattern =
  /(?:^|[;,&\s"'])(?:(?:[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|(?:api|access)[-_]?key)|(?:[\w.-]*[_.-]|PG)?pass|pwd)\s*=|--?[\w-]*(?:password|secret|token|(?:api|access)-key|(?<=-)(?:pass|pwd|auth|key))\s|(?:-u|--user)[\s=]+[^\s:]+:(?!\d+(?:\s|$)))\s*["']?(?=\S)/i

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const isUnbroken = (text: string) => /^[A-Za-z0-9]{32,}$/.test(text) && /\d/.test(text) && /[A-Za-z]/.test(text)
const isBase64Url = (text: string) =>
  /^[\w-]{24,}$/.test(text) && /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text)

/**
 * Returns true if a text looks random, as keys do: 32 letters and digits or more, or 24 characters of base64url or
 * more.
 */
const looksRandom = (text: string) => isUnbroken(text) || isBase64Url(text)

const looksSecret = (text: string) => text === MASK || looksRandom(text)

/** Part of a text; the concatenated parts are the text */
interface TextPart {
  readonly text: string
  readonly isSecret: boolean
}

const publicPart = (text: string): TextPart => ({ text, isSecret: false })
const secretPart = (text: string): TextPart => ({ text, isSecret: text !== '' })

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function splitPath(path: string): TextPart[] {
  return path.split(/(\/)/).map((segment) => {
    const plain = decoded(segment)
    return looksSecret(plain) || UUID.test(plain) ? secretPart(segment) : publicPart(segment)
  })
}

/** Splits a query. A parameter without a name is treated as a value, since some services take a bare key. */
function splitQuery(query: string): TextPart[] {
  return query.split(/([?&;])/).flatMap((part) => {
    if (/^[?&;]?$/.test(part)) return [publicPart(part)]
    const at = part.indexOf('=') + 1
    if (at === 0) return [secretPart(part)]
    const name = part.slice(0, at - 1)
    return at === part.length && looksSecret(name)
      ? [secretPart(name), publicPart('=')]
      : [publicPart(`${name}=`), secretPart(part.slice(at))]
  })
}

const urlPattern = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^/?#]*)(@))?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is

/**
 * Splits a URL. User information, query values, random path segments, and a fragment with values are secret. Returns
 * undefined if the text is not a URL with `//`.
 */
function splitUrl(url: string): TextPart[] | undefined {
  const found = urlPattern.exec(url)
  if (!found) return undefined
  const [, scheme = '', user = '', at = '', host = '', path = '', query = '', fragment = ''] = found
  const last = fragment.includes('=') || looksRandom(fragment.slice(1)) ? secretPart(fragment) : publicPart(fragment)
  // Masked arguments are cut at the first secret, so the host may be `***` too.
  const hosts = host === MASK ? [secretPart(host)] : [publicPart(at + host)]
  return [publicPart(scheme), secretPart(user), ...hosts, ...splitPath(path), ...splitQuery(query), last]
}

/** Replaces each secret in a URL by `***`. Idempotent. */
export const maskUrl = (url: string): string =>
  splitUrl(url)
    ?.map(({ text, isSecret }) => (isSecret ? MASK : text))
    .join('') ?? url.replace(/\?.*$/s, `?${MASK}`)

/** Returns the secrets in a URL, raw and decoded; for user information also its two parts. */
export function secretsOfUrl(url: string): string[] {
  const texts = (splitUrl(url) ?? []).filter(({ isSecret }) => isSecret).map(({ text }) => text)
  return texts.flatMap((text) => [text, ...text.split(':')]).flatMap((text) => [text, decoded(text)])
}

/** Returns the offset of the first secret in a URL. */
function secretInUrl(url: string): number | undefined {
  let length = 0
  for (const { text, isSecret } of splitUrl(url) ?? []) {
    if (isSecret) return length
    length += text.length
  }
  return undefined
}

/** Flags of `curl` and of bridges to remote servers that take a header */
const headerFlag = /^(?:-H|--headers?)$/

function secretInHeader(text: string): number {
  const [name = ''] = /^[\w-]+:\s*/.exec(text) ?? []
  return name.length
}

/** Finds a secret in a value by its form alone. */
function secretInValue(value: string): number | undefined {
  if (urlPattern.test(value)) return secretInUrl(value)
  if (/^\s*[[{]/.test(value) && secretNamePattern.test(value)) return 0
  const [header = ''] = /^[\w-]+:\s*(?=\S)/.exec(value) ?? []
  if (header !== '' && secretNamePattern.test(header)) return header.length
  const pair = pairPattern.exec(value)
  const starts = [tokenPattern.exec(value)?.index, pair ? pair.index + pair[0].length : undefined]
  const found = starts.filter((start) => start !== undefined)
  if (found.length > 0) return Math.min(...found)
  return looksSecret(value) ? 0 : undefined
}

/** Finds the password in `user:password`. Two numbers are a user and a group, as programs that run containers take them. */
function secretOfUser(text: string): number | undefined {
  const at = text.indexOf(':') + 1
  const isUser = at > 0 && !urlPattern.test(text) && !/^\d+:\d+$/.test(text)
  return isUser ? at : secretInValue(text)
}

/** Finds a secret by the name before `=`, in up to `levels` assignments: `--env=NAME=value`. */
function secretInAssignment(text: string, levels: number): number | undefined {
  if (urlPattern.test(text)) return secretInUrl(text)
  const at = text.indexOf('=') + 1
  const [name, value] = [text.slice(0, Math.max(at - 1, 0)), text.slice(at)]
  if (at > 0 && namesSecret(name)) return at
  const hasInner = levels > 1 && at > 0 && /^[\w.-]+=/.test(value)
  const start = headerFlag.test(name)
    ? secretInHeader(value)
    : userFlag.test(name)
      ? secretOfUser(value)
      : hasInner
        ? secretInAssignment(value, levels - 1)
        : secretInValue(value)
  return start === undefined ? undefined : at + start
}

/**
 * Returns the offset of the secret in an argument, which extends to its end. Found by the flag before it, by its own
 * name, or by its form.
 */
function secretStart(args: readonly string[], index: number): number | undefined {
  const arg = args[index]!
  const before = args[index - 1] ?? ''
  if (before.startsWith('-') && !before.includes('=') && namesSecret(before)) {
    // a flag of a short name may have no value, as in `--auth --port 80`
    if (secretNamePattern.test(before) || !arg.startsWith('-')) return 0
  }
  if (headerFlag.test(before)) return secretInHeader(arg)
  if (userFlag.test(before)) return secretOfUser(arg)
  if (arg.startsWith('-u') && arg.length > 2 && !arg.includes('=')) return secretOfUser(arg)
  return secretInAssignment(arg, 2)
}

function secretArgument(args: readonly string[], index: number): string | undefined {
  const start = secretStart(args, index)
  return start === undefined || start === args[index]!.length ? undefined : args[index]!.slice(start)
}

/**
 * Returns the secrets in arguments, each to the end of its argument and also without a header's scheme: `--token x`,
 * `--api-key=x`, `NAME_TOKEN=x`, `--header "X-Key: x"`, URLs with credentials.
 */
export const secretArguments = (args: readonly string[]): string[] =>
  args.flatMap((_arg, index) => {
    const end = secretArgument(args, index)
    if (end === undefined) return []
    const credential = end.replace(/^(?:Bearer|Basic)\s+/i, '')
    return credential === end ? [end] : [end, credential]
  })

/** Returns the URLs in arguments: whole arguments, or their values. */
export const urlsInArguments = (args: readonly string[]): string[] =>
  args.flatMap((arg) => /(?:^|[=:\s])([a-z][a-z0-9+.-]*:\/\/\S+)$/i.exec(arg)?.[1] ?? [])

/** Returns the secrets in arguments, including each secret within URLs, for redaction. */
export const secretsOfArguments = (args: readonly string[]): string[] => [
  ...secretArguments(args),
  ...urlsInArguments(args).flatMap(secretsOfUrl)
]

/** Returns the arguments with each secret replaced by the result of `put`. */
export const replaceSecrets = (args: readonly string[], put: (index: number) => string): string[] =>
  args.map((arg, index) => {
    const end = secretArgument(args, index)
    return end === undefined ? arg : `${arg.slice(0, arg.length - end.length)}${put(index)}`
  })

/** Returns the arguments with each secret replaced by `***`. */
export const maskArguments = (args: readonly string[]): string[] => replaceSecrets(args, () => MASK)

/** Returns true if a secret of the URL is `***`, the replacement used by the gateway. */
export const isMaskedUrl = (url: string): boolean =>
  splitUrl(url)?.some(({ text, isSecret }) => isSecret && text === MASK) ?? false

export const isMaskedArgument = (args: readonly string[], index: number): boolean =>
  secretArgument(args, index) === MASK
