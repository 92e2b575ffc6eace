import { dirname } from 'node:path'
import {
  circles,
  commentCount,
  crowdedFolders,
  functionLengths,
  importGraph,
  longTests,
  pronounComments,
  typeNames,
  whatComments,
  wordCount,
  type Finding
} from './measures.ts'
import { readSource, sourcePaths } from './source.ts'

const verbose = process.argv.includes('--list')
const trees = {
  src: sourcePaths('src').map(readSource),
  dashboard: sourcePaths('dashboard/src').map(readSource),
  test: sourcePaths('test').map(readSource),
  others: sourcePaths('benchmarks', 'migrations', 'scripts').map(readSource)
}
const report = (name: string, figure: string, findings: readonly Finding[] = []) => {
  console.log(`${name.padEnd(50)} ${figure}`)
  if (verbose) for (const { path, line, text } of findings) console.log(`    ${path}:${line} ${text}`)
}
const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} % (${part} of ${whole})`

for (const [tree, sources] of Object.entries(trees)) {
  const pronouns = pronounComments(sources)
  report(`${tree}: comments that begin with a pronoun`, percent(pronouns.length, commentCount(sources)), pronouns)
  const whats = whatComments(sources)
  const perThousand = ((1000 * whats.length) / wordCount(sources)).toFixed(1)
  report(`${tree}: "what" per 1,000 words of comments`, `${perThousand} (${whats.length})`, whats)
  const { all, participles } = typeNames(sources)
  report(`${tree}: types named by a bare participle`, percent(participles.length, all.length), participles)
  const { lengths, long } = functionLengths(sources, 120)
  const at = (share: number) => lengths[Math.floor(lengths.length * share)]
  report(`${tree}: lines of functions, p50/p90/longest`, `${at(0.5)}/${at(0.9)}/${lengths.at(-1)}`, long)
}
const product = [...trees.src, ...trees.dashboard]
const crowded = crowdedFolders(product, 25)
report('folders with more than 25 files', `${crowded.length}`, crowded)
const asFinding = (members: string[]) => ({ path: members[0]!, line: 0, text: members.join(' ') })
const atRunTime = circles(importGraph(product, { valuesOnly: true }))
report('circles of imports at run time', `${atRunTime.length}`, atRunTime.map(asFinding))
const folders = circles(importGraph(trees.src, { valuesOnly: false, roomOf: dirname }))
report('circles between folders of src', `${folders.length}`, folders.map(asFinding))
const tests = longTests(trees.test, 150)
report('tests longer than 150 lines', `${tests.length}`, tests)
