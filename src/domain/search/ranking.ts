import { toolFields, type SearchBlock } from './block.ts'
import { MAX_QUERY } from './limits.ts'
import { synonyms } from './synonyms.ts'
import { termsOf } from './tokens.ts'

/** Tools of one server that a caller may find. */
export interface SearchPart {
  readonly block: SearchBlock
  /** 1 at the number of each tool that may be found; undefined if all may be */
  readonly included?: Uint8Array | undefined
}

/** A tool that was found: the position of its part, and its number there. */
export interface Hit {
  readonly part: number
  readonly tool: number
  readonly score: number
}

/** Answer to a query. */
export interface Ranking {
  /** Best first */
  readonly hits: readonly Hit[]
  /** Number of all tools with at least one term of the query */
  readonly total: number
  /** Number of the first hits whose names are in the query */
  readonly named: number
}

/** Longest query in UTF-16 units, of which a character has at most two */
const MAX_UNITS = 2 * MAX_QUERY
/** Terms of a query that count */
const MAX_QUERY_TERMS = 48

/** Weight and share of the length of each of `toolFields`: name, description, parameters. */
const weights = [3, 1, 0.6] as const
const lengthShares = [0.3, 0.75, 0.75] as const
/** Weight and share of the length of the server's name and text. */
const serverWeights = [1.5, 0.5] as const
const serverLengthShares = [0, 0.5] as const
const K1 = 1.2
const SYNONYM_WEIGHT = 0.35
const COVERAGE_WEIGHT = 0.5

/** Part with the place of its tools among all tools. */
interface PlacedPart extends SearchPart {
  readonly offset: number
  /** Number of included tools */
  readonly count: number
}

/** Averages over the included tools, at least 1. */
interface Averages {
  readonly tool: readonly number[]
  readonly server: readonly number[]
}

const isIncluded = ({ included }: SearchPart, tool: number) => included === undefined || included[tool] === 1

const countIncluded = ({ block, included }: SearchPart) =>
  included === undefined ? block.size : included.reduce((sum, each) => sum + each, 0)

function place(parts: readonly SearchPart[]): PlacedPart[] {
  let offset = 0
  return parts.map((part) => {
    const placed = { ...part, offset, count: countIncluded(part) }
    offset += part.block.size
    return placed
  })
}

function averagesOf(parts: readonly PlacedPart[], total: number): Averages {
  const tool = toolFields.map(() => 0)
  const server = [0, 0]
  for (const part of parts) {
    const { block, count } = part
    for (let i = 0; i < block.size; i++) {
      if (isIncluded(part, i)) for (const f of tool.keys()) tool[f]! += block.lengths[3 * i + f]!
    }
    for (const f of server.keys()) server[f]! += count * block.serverLengths[f]!
  }
  const average = (sum: number) => Math.max(1, sum / Math.max(1, total))
  return { tool: tool.map(average), server: server.map(average) }
}

/** Divisor of a field's counts: 1 for a text of average length. */
const lengthNorm = (share: number, length: number, average: number) => 1 - share + (share * length) / average

/** The best tools so far, best first. */
class Best {
  readonly hits: Hit[] = []
  readonly #limit: number
  readonly #compare: (a: Hit, b: Hit) => number

  constructor(limit: number, compare: (a: Hit, b: Hit) => number) {
    this.#limit = limit
    this.#compare = compare
  }

  add(hit: Hit): void {
    const { hits } = this
    if (hits.length === this.#limit && this.#compare(hit, hits.at(-1)!) >= 0) return
    const at = hits.findIndex((each) => this.#compare(hit, each) < 0)
    hits.splice(at < 0 ? hits.length : at, 0, hit)
    if (hits.length > this.#limit) hits.pop()
  }
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the words of a query that can be the exact name of a tool. */
function namesIn(query: string): ReadonlySet<string> {
  const words = query.split(/\s+/).map((word) => word.replace(/^[^\w]+|[^\w]+$/g, ''))
  return new Set([query.trim(), ...words])
}

/** Returns true if a name is written as in no sentence (`e-mail`, `GitHub`, `iPhone`), so that a query with it means the tool. */
const isDistinct = (name: string) => /_|^[a-z]{2,}[a-z\d]*[A-Z][a-z]/.test(name)

/** Added to the score of a tool whose name is in the query; more than any score by words */
const NAMED = 1_000_000

/**
 * Ranks the tools of a scope by BM25F. All statistics are those of the included tools, so that a ranking tells nothing of
 * the others.
 */
export class ToolRanking {
  readonly #parts: readonly PlacedPart[]
  readonly #size: number
  readonly #total: number
  readonly #averages: Averages

  constructor(parts: readonly SearchPart[]) {
    this.#parts = place(parts)
    this.#size = this.#parts.reduce((sum, { block }) => sum + block.size, 0)
    this.#total = this.#parts.reduce((sum, { count }) => sum + count, 0)
    this.#averages = averagesOf(this.#parts, this.#total)
  }

  /** Number of tools that can be found */
  get total(): number {
    return this.#total
  }

  /**
   * Finds at most `limit` tools. Yields after each term, so that the caller can give other work a turn. `only`: positions
   * of the parts to search; the statistics are still those of all parts.
   */
  *search(query: string, limit: number, only?: ReadonlySet<number>): Generator<void, Ranking> {
    const text = query.slice(0, MAX_UNITS)
    const terms = [...new Set(termsOf(text))].slice(0, MAX_QUERY_TERMS)
    const scores = new Float64Array(this.#size)
    const found = new Uint8Array(this.#size)
    const best = new Float64Array(this.#size)
    for (const term of terms) {
      this.#addTerm(term, 1, best)
      for (const other of synonyms.get(term) ?? []) this.#addTerm(other, SYNONYM_WEIGHT, best)
      for (let i = 0; i < best.length; i++) {
        if (best[i] === 0) continue
        scores[i]! += best[i]!
        found[i]! += 1
        best[i] = 0
      }
      yield
    }
    for (let i = 0; i < scores.length; i++) scores[i]! *= 1 + (COVERAGE_WEIGHT * found[i]!) / Math.max(1, terms.length)
    return this.#pick(text, scores, limit, only)
  }

  #pick(query: string, scores: Float64Array, limit: number, only: ReadonlySet<number> | undefined): Ranking {
    const named = namesIn(query)
    const whole = query.trim()
    const best = new Best(
      limit,
      (a, b) => b.score - a.score || compareText(this.#nameOf(a), this.#nameOf(b)) || a.part - b.part || a.tool - b.tool
    )
    let total = 0
    this.#parts.forEach((part, at) => {
      if (only?.has(at) === false) return
      const { block, offset } = part
      for (let tool = 0; tool < block.size; tool++) {
        if (!isIncluded(part, tool)) continue
        const isNamed = [block.names[tool]!, block.ownNames[tool]!].some(
          (name) => name === whole || (named.has(name) && isDistinct(name))
        )
        const score = scores[offset + tool]! + (isNamed ? NAMED : 0)
        if (score === 0) continue
        total++
        best.add({ part: at, tool, score })
      }
    })
    return { hits: best.hits, total, named: best.hits.filter(({ score: each }) => each >= NAMED).length }
  }

  #nameOf({ part, tool }: Hit): string {
    return this.#parts[part]!.block.names[tool]!
  }

  /** Raises the scores in `best` to those of one term. */
  #addTerm(term: string, weight: number, best: Float64Array): void {
    const frequency = this.#frequencyOf(term)
    if (frequency === 0) return
    const rarity = Math.log(1 + (this.#total - frequency + 0.5) / (frequency + 0.5))
    const raise = (at: number, count: number) => {
      const score = (weight * rarity * count) / (K1 + count)
      if (score > best[at]!) best[at] = score
    }
    for (const part of this.#parts) this.#addPart(part, term, raise)
  }

  #addPart(part: PlacedPart, term: string, raise: (at: number, count: number) => void): void {
    const { block, offset } = part
    const ofServer = this.#serverCount(block, term)
    block.visit(term, (tool, counts) => {
      if (isIncluded(part, tool)) raise(offset + tool, ofServer + this.#toolCount(block, tool, counts))
    })
    if (ofServer === 0) return
    for (let tool = 0; tool < block.size; tool++) if (isIncluded(part, tool)) raise(offset + tool, ofServer)
  }

  /** Number of included tools that have a term, in their own texts or in those of their server. */
  #frequencyOf(term: string): number {
    let sum = 0
    for (const part of this.#parts) {
      if (part.block.serverCounts(term)) sum += part.count
      else part.block.visit(term, (tool) => (sum += isIncluded(part, tool) ? 1 : 0))
    }
    return sum
  }

  #serverCount(block: SearchBlock, term: string): number {
    const counts = block.serverCounts(term)
    if (!counts) return 0
    return counts.reduce((sum, count, f) => {
      const norm = lengthNorm(serverLengthShares[f]!, block.serverLengths[f]!, this.#averages.server[f]!)
      return sum + (serverWeights[f]! * count) / norm
    }, 0)
  }

  #toolCount(block: SearchBlock, tool: number, counts: number): number {
    let sum = 0
    for (let f = 0; f < toolFields.length; f++) {
      const { shift, mask } = toolFields[f]!
      const count = (counts >>> shift) & mask
      if (count === 0) continue
      const length = block.lengths[toolFields.length * tool + f]!
      sum += (weights[f]! * count) / lengthNorm(lengthShares[f]!, length, this.#averages.tool[f]!)
    }
    return sum
  }
}
