import { dirname } from 'node:path'
import { childrenOf, walk, type Node, type Source } from './source.ts'

/** A finding of a measure, with its place. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly text: string
}

const pronoun = /^(?:What|Who|Whose|Whom|Whether|Where|It|They)\b/

/** Returns comments that begin with a pronoun or a question word instead of a noun or verb. */
export const pronounComments = (sources: readonly Source[]): Finding[] =>
  sources.flatMap(({ path, comments }) =>
    comments.filter(({ text }) => pronoun.test(text)).map(({ text, line }) => ({ path, line, text }))
  )

export const commentCount = (sources: readonly Source[]): number =>
  sources.reduce((sum, { comments }) => sum + comments.length, 0)

export const wordCount = (sources: readonly Source[]): number =>
  sources.reduce(
    (sum, { comments }) => sum + comments.reduce((words, { text }) => words + text.split(' ').length, 0),
    0
  )

/** Returns comments with the word "what". */
export const whatComments = (sources: readonly Source[]): Finding[] =>
  sources.flatMap(({ path, comments }) =>
    comments.flatMap(({ text, line }) => [...text.matchAll(/\bwhat\b/gi)].map(() => ({ path, line, text })))
  )

/** Participles without a regular ending. */
const irregular = new Set(
  'Kept Held Told Sent Heard Seen Found Taken Given Known Made Left Lost Meant Read Said Shown Sought Spent Spoken Bound Bent Begun Broken Built Chosen Done Drawn Gone Grown Hidden Met Paid Put Run Set Stood Thrown Understood Worn Written'.split(
    ' '
  )
)
/** Nouns of the field that end like participles. */
const nouns = new Set(
  'Embed Feed Seed Speed Need Listing String Setting Heading Finding Warning Timing Rating Ring Thing Binding Reading Mapping Ping Sibling Meaning Routing Feeding Sampling Spring Pricing Casing Padding Opening Recording'.split(
    ' '
  )
)

const isBareParticiple = (name: string) =>
  /^[A-Z][a-z]+$/.test(name) && !nouns.has(name) && (irregular.has(name) || /(?:ed|ing)$/.test(name))

const typeNodes = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration', 'TSEnumDeclaration'])

/** Returns the names of declared types, and those among them that are one participle. */
export function typeNames(sources: readonly Source[]): { readonly all: Finding[]; readonly participles: Finding[] } {
  const all: Finding[] = []
  for (const { path, program, lineOf } of sources) {
    walk(program, (node) => {
      const name = (node.id as { name?: string } | null | undefined)?.name
      if (typeNodes.has(node.type) && name) all.push({ path, line: lineOf(node.start), text: name })
    })
  }
  return { all, participles: all.filter(({ text }) => isBareParticiple(text)) }
}

const functionNodes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Returns the lengths in lines, ascending, and the functions longer than `longest`. */
export function functionLengths(sources: readonly Source[], longest: number) {
  const lengths: number[] = []
  const long: Finding[] = []
  for (const { path, program, lineOf } of sources) {
    walk(program, (node) => {
      if (!functionNodes.has(node.type) || !node.body) return
      const lines = lineOf(node.end) - lineOf(node.start) + 1
      lengths.push(lines)
      if (lines > longest) long.push({ path, line: lineOf(node.start), text: `${lines} lines` })
    })
  }
  return { lengths: lengths.sort((a, b) => a - b), long }
}

const isTestCall = ({ type, callee }: Node) => {
  if (type !== 'CallExpression') return false
  const { name, object, property } = callee as {
    name?: string
    object?: { name?: string }
    property?: { name?: string }
  }
  return (
    name === 'test' ||
    name === 'it' ||
    (object?.name === 'test' && /^(?:only|skip|todo)$/.test(property?.name ?? '')) ||
    (object?.name === 't' && property?.name === 'test')
  )
}

/** Returns functions passed to `test` that are longer than `longest` lines. */
export const longTests = (sources: readonly Source[], longest: number): Finding[] =>
  sources.flatMap(({ path, program, lineOf }) => {
    const found: Finding[] = []
    walk(program, (node) => {
      if (!isTestCall(node)) return
      for (const argument of childrenOf(node).filter(({ type }) => functionNodes.has(type))) {
        const lines = lineOf(argument.end) - lineOf(argument.start) + 1
        if (lines > longest) found.push({ path, line: lineOf(node.start), text: `${lines} lines` })
      }
    })
    return found
  })

/** Returns folders with more than `most` source files directly in them. */
export function crowdedFolders(sources: readonly Source[], most: number): Finding[] {
  const counts = new Map<string, number>()
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count > most)
    .map(([path, count]) => ({ path, line: 0, text: `${count} files` }))
}

/** Returns sets of nodes that reach each other (Tarjan), each with more than one member. */
export function circles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = []
  const indices = new Map<string, number>()
  const lows = new Map<string, number>()
  const stack: string[] = []
  const visit = (node: string) => {
    indices.set(node, indices.size)
    lows.set(node, indices.get(node)!)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!indices.has(next)) visit(next)
      if (stack.includes(next)) lows.set(node, Math.min(lows.get(node)!, lows.get(next)!))
    }
    if (lows.get(node) !== indices.get(node)) return
    const members = stack.splice(stack.indexOf(node))
    if (members.length > 1) found.push(members.sort())
  }
  for (const node of edges.keys()) if (!indices.has(node)) visit(node)
  return found
}

/** Returns the imports between files, or between the groups that `roomOf` maps them to. */
export function importGraph(
  sources: readonly Source[],
  { valuesOnly, roomOf = (path) => path }: { readonly valuesOnly: boolean; readonly roomOf?: (path: string) => string }
): Map<string, Set<string>> {
  const paths = new Set(sources.map(({ path }) => path))
  const edges = new Map<string, Set<string>>()
  for (const { path, imports } of sources) {
    const from = roomOf(path)
    const targets = edges.get(from) ?? new Set()
    edges.set(from, targets)
    for (const { target, isValue } of imports) {
      if (paths.has(target) && (isValue || !valuesOnly) && roomOf(target) !== from) targets.add(roomOf(target))
    }
  }
  return edges
}
