import { toVariableName } from '../names.ts'
import type { EntryInput } from './entry.ts'

/** Value that a person gives when installing a server */
export interface InstallInput {
  /** Key of the value */
  readonly name: string
  /** Argument, environment variable, header or URL variable that the value is for */
  readonly label: string
  readonly description?: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  /** True if several values may be given */
  readonly isRepeated: boolean
  /** True if the value takes a place within a fixed text */
  readonly isPart: boolean
  readonly format: 'string' | 'number' | 'boolean' | 'filepath'
  readonly default?: string
  readonly placeholder?: string
  readonly choices?: readonly string[]
}

/** Values by the names of inputs; lists for inputs that may be repeated */
export type InstallValues = Readonly<Record<string, string | readonly string[]>>

/** Text, or the name of the input whose value takes its place */
export type Piece = string | { readonly input: string }

/** Place in a configuration that is filled with text and with values */
export interface Slot {
  readonly pieces: readonly Piece[]
  readonly isRequired: boolean
  readonly isRepeated: boolean
}

/** Inputs of one way to install a server, by name */
export type Inputs = Map<string, InstallInput>

/** Problems of given values; the texts contain no values, which may be secrets. */
export interface ValueFindings {
  /** Names of required inputs without a value */
  readonly missing: Set<string>
  readonly problems: string[]
}

export interface InputPlace {
  readonly label: string
  readonly isRepeated?: boolean
  readonly isPart?: boolean
}

function optional<K extends string, V>(key: K, value: V | undefined) {
  return (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: V }
}

/** Adds an input under a free name: inputs of one entry may have the same name. */
function addInput(
  id: string,
  given: EntryInput,
  { label, isRepeated = false, isPart = false }: InputPlace,
  inputs: Inputs
): Piece {
  const base = toVariableName(id)
  let name = base
  for (let i = 2; inputs.has(name); i++) name = `${base}_${i}`
  inputs.set(name, {
    name,
    label,
    isRequired: given.isRequired === true,
    isSecret: given.isSecret === true,
    isRepeated,
    isPart,
    format: given.format ?? 'string',
    ...optional('description', given.description),
    ...optional('default', given.default),
    ...optional('placeholder', given.placeholder),
    ...optional('choices', given.choices)
  })
  return { input: name }
}

/** Splits a fixed value at the `{name}` of declared variables; other braces stay. A fixed variable is its value. */
export function splitTemplate(
  text: string,
  variables: Readonly<Record<string, EntryInput>>,
  place: InputPlace,
  inputs: Inputs
): Piece[] {
  const known = new Map<string, Piece>()
  return text.split(/(\{[^{}]+\})/).flatMap((part): Piece[] => {
    const id = part.slice(1, -1)
    const isVariable = part.startsWith('{') && Object.hasOwn(variables, id)
    if (!isVariable) return part === '' ? [] : [part]
    const variable = variables[id]!
    const piece = variable.value ?? known.get(id) ?? addInput(id, variable, { ...place, isPart: true }, inputs)
    known.set(id, piece)
    return [piece]
  })
}

const inputsOf = (pieces: readonly Piece[]): string[] =>
  pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.input]))

/** Converts an input to a slot. Its variables become inputs, or it becomes one itself if its value is not fixed. */
export function toSlot(id: string, given: EntryInput, place: InputPlace, inputs: Inputs): Slot {
  const pieces =
    given.value === undefined
      ? [addInput(id, given, place, inputs)]
      : splitTemplate(given.value, given.variables ?? {}, place, inputs)
  const isRequired = given.isRequired === true || inputsOf(pieces).some((name) => inputs.get(name)!.isRequired)
  // a required text cannot do without its variables
  if (isRequired && given.value !== undefined)
    for (const name of inputsOf(pieces)) inputs.set(name, { ...inputs.get(name)!, isRequired: true })
  return { pieces, isRequired, isRepeated: place.isRepeated === true }
}

/** Returns the values of an input: given ones, else the default. Empty texts do not count. */
function valuesOf({ name, default: fallback = '' }: InstallInput, values: InstallValues): string[] {
  const given = Object.hasOwn(values, name) ? [values[name]!].flat().filter((value) => value !== '') : []
  if (given.length > 0) return given
  return fallback === '' ? [] : [fallback]
}

/**
 * Fills a slot. Returns one text for each repetition; none if an optional slot lacks a value.
 */
export function fillSlot(
  { pieces, isRequired, isRepeated }: Slot,
  inputs: Inputs,
  values: InstallValues,
  findings: ValueFindings,
  encode: (value: string) => string = (value) => value
): string[] {
  const names = inputsOf(pieces)
  const found = new Map(names.map((name) => [name, valuesOf(inputs.get(name)!, values)] as const))
  const absent = names.filter((name) => found.get(name)!.length === 0)
  if (absent.length > 0) {
    if (isRequired) for (const name of absent) findings.missing.add(name)
    return []
  }
  const count = isRepeated ? Math.max(1, ...names.map((name) => found.get(name)!.length)) : 1
  return Array.from({ length: count }, (_, i) =>
    pieces
      .map((piece) => {
        if (typeof piece === 'string') return piece
        const list = found.get(piece.input)!
        return encode(list[Math.min(i, list.length - 1)]!)
      })
      .join('')
  )
}

function valueProblem({ format, choices }: InstallInput, value: string): string | undefined {
  if (value === '') return undefined
  if (choices && choices.length > 0 && !choices.includes(value)) return `must be one of ${choices.join(', ')}`
  if (format === 'number' && !/^-?\d+(\.\d+)?$/.test(value)) return 'must be a number'
  return format === 'boolean' && value !== 'true' && value !== 'false' ? 'must be true or false' : undefined
}

/** Checks the given values against the inputs and adds the problems to `findings`. */
export function checkValues(inputs: Inputs, values: InstallValues, { problems }: ValueFindings): void {
  for (const [name, given] of Object.entries(values)) {
    const input = inputs.get(name)
    const all = [given].flat()
    if (!input) problems.push(`there is no input "${name.slice(0, 64)}"`)
    else if (all.length > 1 && !input.isRepeated) problems.push(`"${name}" takes one value only`)
    else {
      const problem = all.map((value) => valueProblem(input, value)).find(Boolean)
      if (problem !== undefined) problems.push(`"${name}" ${problem}`)
    }
  }
}
