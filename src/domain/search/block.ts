import { termsOf, type KnownWords } from './tokens.ts'

/** Parts of a tool that search reads, as its endpoint lists it. */
export interface ToolText {
  /** Name that the endpoint lists */
  readonly name: string
  /** Name without the server */
  readonly ownName: string
  readonly description: string
  /** Names, descriptions and values of its parameters */
  readonly parameters: string
}

/** Parts of a server that search reads; they count for all its tools. */
export interface ServerText {
  readonly name: string
  /** Description or instructions */
  readonly about: string
}

/**
 * Fields that are counted per tool: name, description, parameters, with their bits in a posting. `most`: what counts of a
 * term at most, so that repeating it does not make a tool come first.
 */
export const toolFields = [
  { shift: 0, mask: 0xff, most: 2 },
  { shift: 8, mask: 0xfff, most: 3 },
  { shift: 20, mask: 0xfff, most: 3 }
] as const

/** Postings of the tools of one server. Immutable. */
export interface SearchBlock {
  /** Number of tools */
  readonly size: number
  /** Listed names, by number of the tool */
  readonly names: readonly string[]
  /** Names without the server */
  readonly ownNames: readonly string[]
  /** Terms of each field of `toolFields`, three numbers a tool */
  readonly lengths: Uint16Array
  /** Terms of the name and of the text of the server */
  readonly serverLengths: readonly [number, number]
  /** How often the name and the text of the server have a term */
  serverCounts(term: string): readonly [number, number] | undefined
  /**
   * Calls `visit` for each tool that has a term; `counts`: how often each of `toolFields` has it. Returns false if none
   * has it.
   */
  visit(term: string, visit: (tool: number, counts: number) => void): boolean
  /** Approximate size in memory */
  readonly bytes: number
}

const MAX_NAME = 256
const MAX_DESCRIPTION = 4_096
const MAX_PARAMETERS = 8_192
const MAX_ABOUT = 400
/** Terms of one field that are counted */
const MAX_TERMS = 1_000
/** Estimated size of a term beside its characters, and of a tool beside its names */
const TERM_BYTES = 100
const TOOL_BYTES = 64

/** Length up to which parameters are read: callers need not collect more. */
export const maxParameters = MAX_PARAMETERS

function countsOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}

/** Collects the postings of a server's tools, one tool at a time so that the work can be spread over turns. */
export class BlockBuilder {
  readonly #names: string[] = []
  readonly #ownNames: string[] = []
  readonly #lengths: number[] = []
  readonly #words: KnownWords = new Map()
  /** Pairs of the number of a tool and its counts, by term */
  readonly #postings = new Map<string, number[]>()

  /** Adds a tool. Texts are read up to a length, so that no tool costs more than some milliseconds. */
  add({ name, ownName, description, parameters }: ToolText): void {
    const tool = this.#names.push(name) - 1
    this.#ownNames.push(ownName)
    const terms = (text: string, length: number) => termsOf(text.slice(0, length), MAX_TERMS, this.#words)
    const fields = [terms(ownName, MAX_NAME), terms(description, MAX_DESCRIPTION), terms(parameters, MAX_PARAMETERS)]
    const packed = new Map<string, number>()
    for (const [i, found] of fields.entries()) {
      const { shift, mask, most } = toolFields[i]!
      this.#lengths.push(found.length)
      for (const term of found) {
        const counts = packed.get(term) ?? 0
        if (((counts >>> shift) & mask) < most) packed.set(term, counts + 2 ** shift)
      }
    }
    for (const [term, counts] of packed) {
      const found = this.#postings.get(term)
      if (found) found.push(tool, counts)
      else this.#postings.set(term, [tool, counts])
    }
  }

  /** Returns the block of all added tools. */
  finish(server: ServerText): SearchBlock {
    const name = termsOf(server.name.slice(0, MAX_NAME), MAX_TERMS)
    const about = termsOf(server.about.slice(0, MAX_ABOUT), MAX_TERMS)
    const [nameCounts, aboutCounts] = [countsOf(name), countsOf(about)]
    const { ends, postings, termBytes } = this.#freeze()
    const names = this.#names
    const textBytes = [...names, ...this.#ownNames].reduce((sum, each) => sum + 2 * each.length, 0)
    return {
      size: names.length,
      names,
      ownNames: this.#ownNames,
      lengths: Uint16Array.from(this.#lengths),
      serverLengths: [name.length, about.length],
      serverCounts(term) {
        const [inName, inAbout] = [nameCounts.get(term), aboutCounts.get(term)]
        return inName === undefined && inAbout === undefined ? undefined : [inName ?? 0, inAbout ?? 0]
      },
      visit(term, visit) {
        const range = ends.get(term)
        if (!range) return false
        for (let i = range.from; i < range.to; i += 2) visit(postings[i]!, postings[i + 1]!)
        return true
      },
      bytes: postings.byteLength + termBytes + textBytes + names.length * TOOL_BYTES
    }
  }

  #freeze() {
    const total = [...this.#postings.values()].reduce((sum, { length }) => sum + length, 0)
    const postings = new Uint32Array(total)
    const ends = new Map<string, { readonly from: number; readonly to: number }>()
    let at = 0
    let termBytes = 0
    for (const [term, found] of this.#postings) {
      postings.set(found, at)
      ends.set(term, { from: at, to: at + found.length })
      at += found.length
      termBytes += TERM_BYTES + 2 * term.length
    }
    return { ends, postings, termBytes }
  }
}
