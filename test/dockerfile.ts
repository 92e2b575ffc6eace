/** A Dockerfile instruction, of the subset that ours uses. */
export interface Instruction {
  readonly name: string
  readonly flags: Readonly<Record<string, string>>
  /** The text after the name and flags. */
  readonly text: string
}

export interface Stage {
  readonly name: string
  /** Name of an earlier stage, or of an image. */
  readonly from: string
  readonly instructions: readonly Instruction[]
}

function instructionOf(line: string): Instruction {
  const [, name = '', flags = '', text = ''] = /^([A-Z]+)\s+((?:--\S+\s+)*)(.*)$/s.exec(line) ?? []
  const pairs = [...flags.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value] as const)
  return { name, flags: Object.fromEntries(pairs), text: text.trim() }
}

/** Parses a Dockerfile. Throws on unknown syntax, so that no line is skipped. */
export function parseDockerfile(source: string): Stage[] {
  const lines = source
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const defaults = new Map<string, string>()
  const stages: (Stage & { instructions: Instruction[] })[] = []
  for (const line of lines) {
    const instruction = instructionOf(line)
    if (instruction.name === '') throw new Error(`not an instruction: ${line}`)
    const { name, text } = instruction
    if (name === 'ARG' && stages.length === 0) {
      defaults.set(text.split('=')[0]!, text.split('=')[1]!)
    } else if (name === 'FROM') {
      const [from = '', , as = ''] = text.replace(/\$\{(\w+)\}/g, (_, key: string) => defaults.get(key)!).split(/\s+/)
      stages.push({ name: as, from, instructions: [] })
    } else {
      stages.at(-1)!.instructions.push(instruction)
    }
  }
  return stages
}

/** Returns a stage's instructions, preceded by those of the stages that it builds on. */
export function instructionsOf(stages: readonly Stage[], name: string): Instruction[] {
  const stage = stages.find((one) => one.name === name)
  return stage ? [...instructionsOf(stages, stage.from), ...stage.instructions] : []
}

/** Returns the last instruction of a name, the one in effect for USER or CMD. */
export const lastOf = (instructions: readonly Instruction[], name: string) =>
  instructions.findLast((one) => one.name === name)?.text

export const environmentOf = (instructions: readonly Instruction[]): Record<string, string> =>
  Object.fromEntries(
    instructions
      .filter(({ name }) => name === 'ENV')
      .flatMap(({ text }) => text.split(/\s+/).map((pair) => pair.split('=', 2) as [string, string]))
  )
