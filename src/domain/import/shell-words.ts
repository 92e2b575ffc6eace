/** Words of a command line, and what a shell would do with it that the gateway does not. */
export interface CommandLine {
  readonly words: readonly string[]
  /** Names of shell features that change the command, for example `a pipe`. */
  readonly features: readonly string[]
  /** Remarks about parts that are taken literally. */
  readonly notes: readonly string[]
}

const operators: Readonly<Record<string, string>> = {
  '|': 'a pipe or ||',
  '&': '& or &&',
  ';': 'a semicolon',
  '<': 'a redirection',
  '>': 'a redirection',
  '(': 'parentheses',
  ')': 'parentheses',
  '`': 'a command substitution'
}
/** Continues a line in PowerShell (backtick) and in cmd.exe (caret). */
const continuation = /^[`^][ \t]*\r?\n/

/** Rewrites `$NAME` to `${NAME}`. `text` begins with `$`. */
function variableAt(text: string): { readonly length: number; readonly written: string } | undefined {
  const [whole, braced, plain] = /^\$(?:\{([^{}]*)\}|([A-Za-z_]\w*))/.exec(text) ?? []
  return whole === undefined ? undefined : { length: whole.length, written: `\${${braced ?? plain}}` }
}

/** Reads one command line after the other. A class, since its parts share the position. */
class Reader {
  readonly lines: CommandLine[] = []
  readonly #text: string
  #at = 0
  #words: string[] = []
  #word: string | undefined
  #features = new Set<string>()
  #notes = new Set<string>()

  constructor(text: string) {
    this.#text = text
  }

  read(): CommandLine[] {
    while (this.#at < this.#text.length) this.#step()
    this.#endLine()
    return this.lines
  }

  #add(text: string, length = text.length): void {
    this.#word = (this.#word ?? '') + text
    this.#at += length
  }

  #endWord(): void {
    if (this.#word === undefined) return
    if (/^~(?:\/|$)/.test(this.#word)) this.#notes.add('"~" is not replaced: write the full path')
    this.#words.push(this.#word)
    this.#word = undefined
  }

  #endLine(): void {
    this.#endWord()
    if (this.#words.length > 0)
      this.lines.push({ words: this.#words, features: [...this.#features], notes: [...this.#notes] })
    this.#words = []
    this.#features = new Set()
    this.#notes = new Set()
  }

  #step(): void {
    const rest = this.#text.slice(this.#at, this.#at + 4_096)
    const char = rest[0]!
    const continued = continuation.exec(rest)?.[0]
    if (continued !== undefined) {
      this.#endWord()
      this.#at += continued.length
    } else if (char === '\n') {
      this.#endLine()
      this.#at++
    } else if (/\s/.test(char)) {
      this.#endWord()
      this.#at++
    } else if (char === '#' && this.#word === undefined) this.#skipComment()
    else if (char === "'") this.#readSingleQuoted()
    else if (char === '"') this.#readDoubleQuoted()
    else if (char === '\\') this.#readEscape(rest)
    else if (char === '$') this.#readDollar(rest)
    else if (operators[char] !== undefined) {
      this.#features.add(operators[char])
      this.#endWord()
      this.#at++
    } else this.#add(char)
  }

  #skipComment(): void {
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end < 0 ? this.#text.length : end
  }

  #readSingleQuoted(): void {
    const end = this.#text.indexOf("'", this.#at + 1)
    if (end < 0) this.#features.add('a quotation mark that is not closed')
    const last = end < 0 ? this.#text.length : end
    const quoted = this.#text.slice(this.#at + 1, last)
    this.#add(quoted, last + 1 - this.#at)
  }

  #readDoubleQuoted(): void {
    this.#add('', 1)
    for (;;) {
      const rest = this.#text.slice(this.#at, this.#at + 4_096)
      const char = rest[0]
      if (char === undefined) {
        this.#features.add('a quotation mark that is not closed')
        return
      }
      if (char === '"') return this.#add('', 1)
      if (char === '`') this.#features.add('a command substitution')
      if (char === '$') this.#readDollar(rest)
      else if (/^\\\r?\n/.test(rest)) this.#add('', rest.indexOf('\n') + 1)
      else if (/^\\["\\$`]/.test(rest)) this.#add(rest[1]!, 2)
      else this.#add(char)
    }
  }

  #readEscape(rest: string): void {
    if (/^\\[ \t]*\r?\n/.test(rest)) {
      this.#endWord()
      this.#at += rest.indexOf('\n') + 1
      return
    }
    const next = rest[1]
    // a path of Windows, where a backslash is no escape
    if (next === undefined || /[\w.]/.test(next)) this.#add('\\')
    else this.#add(next, 2)
  }

  #readDollar(rest: string): void {
    if (rest.startsWith('$(')) this.#features.add('a command substitution')
    const variable = variableAt(rest)
    if (variable) this.#add(variable.written, variable.length)
    else this.#add('$')
  }
}

/**
 * Splits a text into command lines and their words, with the quoting rules of POSIX shells. Expands nothing and runs
 * nothing; `$NAME` becomes `${NAME}`.
 */
export const readCommandLines = (text: string): CommandLine[] => new Reader(text).read()
