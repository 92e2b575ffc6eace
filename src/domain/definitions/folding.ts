/** Letters of other scripts that look like Latin ones in common fonts, with those that they look like */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // Cyrillic
    а: 'a',
    в: 'b',
    с: 'c',
    ԁ: 'd',
    е: 'e',
    ё: 'e',
    ғ: 'f',
    һ: 'h',
    н: 'h',
    і: 'i',
    ї: 'i',
    ј: 'j',
    к: 'k',
    ӏ: 'l',
    м: 'm',
    о: 'o',
    р: 'p',
    ԛ: 'q',
    ѕ: 's',
    т: 't',
    у: 'y',
    ѵ: 'v',
    ԝ: 'w',
    х: 'x',
    // Greek
    α: 'a',
    β: 'b',
    ε: 'e',
    η: 'n',
    ι: 'i',
    κ: 'k',
    μ: 'u',
    ν: 'v',
    ο: 'o',
    ρ: 'p',
    τ: 't',
    υ: 'u',
    χ: 'x',
    γ: 'y',
    // Armenian, Cherokee in lower case, Latin letters that no language mixes in
    օ: 'o',
    ս: 'u',
    հ: 'h',
    ո: 'n',
    ց: 'g',
    ա: 'w',
    ı: 'i',
    ɑ: 'a',
    ɡ: 'g',
    ɩ: 'i',
    ʏ: 'y'
  })
)

const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const accents = /\p{Mn}/gu
const words = /\p{L}{2,128}/gu
const otherLetters = /[^\p{ASCII}]/gu
const latin = /\p{Script=Latin}/u

/**
 * Folds text so that its spellings become one: NFKC without format characters and accents, look-alike letters as the
 * Latin ones, lower case, each white space as one blank.
 */
export const fold = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(invisible, '')
    .normalize('NFD')
    .replace(accents, '')
    .toLowerCase()
    .replace(otherLetters, (letter) => lookAlikes.get(letter) ?? letter)
    .replace(/\s+/g, ' ')

/** Returns true if a word mixes Latin letters with look-alikes of another script. */
export function hasMixedScripts(text: string): boolean {
  for (const [word] of text.matchAll(words)) {
    if (!latin.test(word)) continue
    for (const letter of word.toLowerCase()) if (lookAlikes.has(letter) && !latin.test(letter)) return true
  }
  return false
}
