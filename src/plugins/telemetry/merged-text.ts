interface Family {
  /** Lines with the description and the type. */
  readonly about: string[]
  readonly samples: string[]
}

/** Name of the family that a comment line describes; undefined for samples. */
const describedFamily = (line: string): string | undefined => /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1]

/** Adds a label to a sample; names of metrics hold neither braces nor spaces. */
function withWorker(sample: string, worker: number): string {
  const at = /[{ ]/.exec(sample)?.index ?? sample.length
  const label = `worker="${worker}"`
  return sample[at] === '{'
    ? `${sample.slice(0, at)}{${label},${sample.slice(at + 1)}`
    : `${sample.slice(0, at)}{${label}}${sample.slice(at)}`
}

function addText(families: Map<string, Family>, worker: number, text: string): void {
  let current: Family | undefined
  let isKnown = false
  let name: string | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const described = describedFamily(line)
    if (described !== undefined && described !== name) {
      name = described
      isKnown = families.has(name)
      current = families.get(name) ?? { about: [], samples: [] }
      families.set(name, current)
    }
    if (described === undefined) current?.samples.push(withWorker(line, worker))
    else if (!isKnown) current!.about.push(line)
  }
}

/**
 * Merges the metrics of several workers, texts in the format of Prometheus, to one text: each family is described once,
 * and each sample has the label `worker`.
 */
export function mergeTexts(texts: ReadonlyMap<number, string>): string {
  const families = new Map<string, Family>()
  for (const [worker, text] of [...texts].sort(([a], [b]) => a - b)) addText(families, worker, text)
  const lines = [...families.values()].flatMap(({ about, samples }) => [...about, ...samples])
  return lines.map((line) => `${line}\n`).join('')
}
