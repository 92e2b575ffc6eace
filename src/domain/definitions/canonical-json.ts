/** A JSON value as canonical text can be made of it: of objects the members, of other values their canonical text */
export type Canonical = { readonly members: ReadonlyMap<string, Canonical> } | { readonly text: string }

/** Nested deeper, a text has no canonical form: each level costs a call. */
const MAX_DEPTH = 200
/** Longer exponents are not compared as numbers. */
const MAX_EXPONENT = 15

const wordAt = /[-+.\w]+/y
const spaces = new Set(Array.from(' \t\n\r'))
const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i

const stop = (): never => {
  throw new SyntaxError('malformed JSON')
}

/** Returns the shortest form of a number: digits without zeros at their ends, then the power of ten. No digit is lost. */
function shortestNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? stop()
  if (exponent.length > MAX_EXPONENT) return text
  const digits = (whole + fraction).replace(/^0+/, '')
  // counted from the end: a pattern would take quadratic time for zeros inside a long number
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  if (end === 0) return '0'
  const power = Number(exponent) - fraction.length + digits.length - end
  return `${sign}${digits.slice(0, end)}${power === 0 ? '' : `e${power}`}`
}

function match(pattern: RegExp, json: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(json)?.[0] ?? stop()
}

/** Returns the string literal at `at`, with its quotes. */
function stringAt(json: string, at: number): string {
  if (json[at] !== '"') stop()
  for (let from = at + 1; ;) {
    const end = json.indexOf('"', from)
    if (end < 0) return stop()
    let first = end
    while (json[first - 1] === '\\' && first > from) first--
    // an even number of backslashes escapes no quote
    if ((end - first) % 2 === 0) return json.slice(at, end + 1)
    from = end + 1
  }
}

/** Returns true for a literal that is its own canonical text: no escapes, no control characters, no lone surrogates. */
// oxlint-disable-next-line no-control-regex -- raw control characters are malformed
const isPlain = (literal: string) => !/[\\\u0000-\u001f\ud800-\udfff]/.test(literal)

/** Reads JSON text. Throws SyntaxError for text that is malformed or nested too deep. */
export function readCanonical(json: string): Canonical {
  let at = 0
  const skip = () => {
    while (spaces.has(json[at]!)) at++
  }
  const take = (character: string) => (json[at] === character ? (at++, true) : false)
  const literal = () => {
    const text = stringAt(json, at)
    at += text.length
    return text
  }
  const string = () => {
    const text = literal()
    return isPlain(text) ? text.slice(1, -1) : (JSON.parse(text) as string)
  }
  const canonicalString = () => {
    const text = literal()
    return isPlain(text) ? text : JSON.stringify(JSON.parse(text))
  }
  const list = (close: string, each: () => void) => {
    skip()
    if (take(close)) return
    do {
      skip()
      each()
      skip()
    } while (take(','))
    if (!take(close)) stop()
  }
  const value = (depth: number): Canonical => {
    if (depth > MAX_DEPTH) stop()
    if (take('{')) {
      const members = new Map<string, Canonical>()
      list('}', () => {
        const key = string()
        skip()
        if (!take(':')) stop()
        skip()
        members.set(key, value(depth + 1))
      })
      return { members }
    }
    if (take('[')) {
      const elements: string[] = []
      list(']', () => elements.push(canonicalText(value(depth + 1))))
      return { text: `[${elements.join(',')}]` }
    }
    if (json[at] === '"') return { text: canonicalString() }
    const word = match(wordAt, json, at)
    at += word.length
    return { text: word === 'true' || word === 'false' || word === 'null' ? word : shortestNumber(word) }
  }
  skip()
  const found = value(0)
  skip()
  return at === json.length ? found : stop()
}

/** Returns the text of a value: members sorted by code unit, no white space, numbers in their shortest form. */
export function canonicalText(value: Canonical): string {
  if ('text' in value) return value.text
  // without a comparison function, which would take ten times as long for a hundred thousand members
  const keys = [...value.members.keys()].sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value.members.get(key)!)}`).join(',')}}`
}
