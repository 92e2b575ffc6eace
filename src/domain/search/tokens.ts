/** Longest word in UTF-16 units; the rest of a longer one is ignored */
const MAX_WORD = 40

/** Words that say nothing about a tool */
const stopWords = new Set(
  (
    'a an the and or of to in on at by for from with as is are be was it its this that s t ' +
    'i me my you your we our can could would will please want need do does how what which'
  ).split(' ')
)

// kinds of UTF-16 units
const GAP = 0
const LOWER = 1
const UPPER = 2
const DIGIT = 3
/** Part of a script whose words have no spaces between them */
const DENSE = 4

/** Ranges outside of ASCII, ascending: the first unit of each and its kind, which holds up to the next range. */
const ranges: readonly (readonly [number, number])[] = [
  [0x80, GAP],
  [0xc0, LOWER],
  // punctuation, arrows, mathematical and other symbols
  [0x2000, GAP],
  [0x2c00, LOWER],
  [0x2e00, GAP],
  // kana and ideographs
  [0x3040, DENSE],
  [0xa000, LOWER],
  // surrogates and private use
  [0xd800, GAP],
  [0xf900, DENSE],
  [0xfb00, LOWER],
  [0xfe00, GAP],
  [0xfe70, LOWER],
  [0xff00, GAP]
]

/** Kinds of the units of ASCII */
const ascii = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  if (unit >= 0x61 && unit <= 0x7a) return LOWER
  if (unit >= 0x41 && unit <= 0x5a) return UPPER
  return unit >= 0x30 && unit <= 0x39 ? DIGIT : GAP
})

/** Returns the kind of a UTF-16 unit. */
function kindOf(unit: number): number {
  if (unit < 0x80) return ascii[unit]!
  let kind = GAP
  for (const [from, of] of ranges) {
    if (unit < from) break
    kind = of
  }
  return kind
}

/** Returns true if the text has a unit outside of ASCII. */
function hasOthers(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return true
  return false
}

const isMark = (unit: number) => unit >= 0x300 && unit < 0x370

/** Replaces compatibility forms, and letters with accents by those without. At most twice as long as the text. */
function plain(text: string): string {
  // one unit can become eighteen
  const parts = text.normalize('NFKD').slice(0, 2 * text.length)
  let found = ''
  let from = 0
  for (let i = 0; i < parts.length; i++) {
    if (!isMark(parts.charCodeAt(i))) continue
    found += parts.slice(from, i)
    from = i + 1
  }
  return (found + parts.slice(from)).normalize('NFC')
}

const isVowel = (letter: string) => 'aeiouy'.includes(letter)

/** Returns true if what is left of a word without a suffix has a vowel. */
const hasVowel = (stem: string) => Array.from(stem).some(isVowel)

/** Writes the end of a stem as words with other suffixes have it: `stopp` as `stop`, `creat` and `create` alike. */
function tidy(stem: string): string {
  const last = stem.at(-1)!
  const isDouble = stem.length > 3 && last === stem.at(-2) && !isVowel(last) && !'lsz'.includes(last)
  return isDouble ? stem.slice(0, -1) : stem
}

/** Removes a plural. */
function singular(word: string): string {
  if (word.length < 4 || !word.endsWith('s')) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:ss|us|is)$/.test(word)) return word
  return /(?:ss|x|z|ch|sh)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}

/** Folds the suffixes of English words lightly: `creates`, `creating`, `created` and `creation` become `creat`. */
export function fold(word: string): string {
  const one = singular(word)
  for (const suffix of ['ing', 'ed', 'ion']) {
    const stem = one.slice(0, -suffix.length)
    if (one.endsWith(suffix) && stem.length > 2 && hasVowel(stem)) return tidy(stem)
  }
  return one.length > 4 && one.endsWith('e') ? one.slice(0, -1) : one
}

type OnWord = (word: string) => void

function give(text: string, start: number, end: number, onWord: OnWord): void {
  onWord(text.slice(start, Math.min(end, start + MAX_WORD)).toLowerCase())
}

/** Splits `HTTPServer2` into `http` and `server2`; what has several parts is also given whole: `github` of `GitHub`. */
function splitCase(text: string, from: number, to: number, onWord: OnWord): void {
  let start = from
  let before = GAP
  for (let i = from; i < to; i++) {
    const kind = kindOf(text.charCodeAt(i))
    const begins = kind === UPPER && (before === LOWER || before === DIGIT)
    // the last of several capitals begins the next word
    const at = begins ? i : kind === LOWER && before === UPPER ? i - 1 : start
    if (at > start) {
      give(text, start, at, onWord)
      start = at
    }
    before = kind
  }
  give(text, start, to, onWord)
  if (start > from) give(text, from, to, onWord)
}

/** Gives each pair of neighbours in a text without spaces between words. */
function splitDense(text: string, from: number, to: number, onWord: OnWord): void {
  if (to - from === 1) onWord(text.slice(from, to))
  for (let i = from + 1; i < to; i++) onWord(text.slice(i - 1, i + 1))
}

/** Splits a text into words, in lower case, with the suffixes that they have. */
function eachWord(given: string, onWord: OnWord): void {
  const text = hasOthers(given) ? plain(given) : given
  let start = 0
  let before = GAP
  for (let i = 0; i <= text.length; i++) {
    const kind = i === text.length ? GAP : kindOf(text.charCodeAt(i))
    const isNext = kind === GAP || before === GAP || (kind === DENSE) !== (before === DENSE)
    if (isNext) {
      if (before === DENSE) splitDense(text, start, i, onWord)
      else if (before !== GAP) splitCase(text, start, i, onWord)
      start = i
    }
    before = kind
  }
}

/** Terms of words, empty for stop words; texts repeat their words. */
export type KnownWords = Map<string, string>

/**
 * Splits a text into the terms that search compares: words between spaces, punctuation and capitals, in lower case,
 * without accents and stop words, with suffixes folded. At most `max` terms; linear in the length of the text.
 */
export function termsOf(text: string, max = Infinity, known: KnownWords = new Map()): string[] {
  const terms: string[] = []
  eachWord(text, (word) => {
    if (terms.length >= max) return
    let term = known.get(word)
    if (term === undefined) known.set(word, (term = stopWords.has(word) ? '' : fold(word)))
    if (term !== '') terms.push(term)
  })
  return terms
}
