import { fillOption, installOptions, type InstallOption } from '../catalogue/install.ts'
import type { InstallInput } from '../catalogue/slots.ts'
import { readServerJson, UnusableEntry } from '../catalogue/server-json.ts'
import type { ImportFindings } from './entry.ts'
import type { ImportVariables } from './variables.ts'

type Members = Readonly<Record<string, unknown>>

/** Returns the options of a `server.json`, or why it cannot be used. */
function readOptions(value: Members): { description: string; options: InstallOption[] } | string {
  try {
    const entry = readServerJson(value)
    return { description: entry.description, options: installOptions(entry) }
  } catch (error) {
    if (error instanceof UnusableEntry) return error.message
    throw error
  }
}

/** Adds a variable for an input that the user must fill in, and returns its reference. */
function addVariable(
  { name, description, isSecret, default: given }: InstallInput,
  variables: ImportVariables
): string {
  variables.set(name, {
    name,
    isSecret,
    ...(description === undefined ? {} : { description }),
    ...(given === undefined ? {} : { default: given })
  })
  return `\${${name}}`
}

/**
 * Converts a `server.json` to a client's configuration entry: the first way to install it, as in the catalogue. Required
 * inputs and those within fixed texts become variables; of the others their defaults are used.
 */
export function convertServerJson(value: Members, variables: ImportVariables, remarks: ImportFindings): Members {
  const read = readOptions(value)
  if (typeof read === 'string') {
    remarks.problems.push(read)
    return {}
  }
  const { description, options } = read
  const common = description === '' ? {} : { description }
  const option = options.find(({ plan }) => plan !== undefined)
  if (!option) {
    const [refused] = options
    remarks.problems.push(
      refused ? `it cannot be installed as ${refused.id}: ${refused.problem}` : 'it has neither a remote nor a package'
    )
    return common
  }
  if (options.length > 1) remarks.notes.push(`only the first of ${options.length} remotes and packages is used`)
  const asked = option.inputs.filter(({ isRequired, isPart }) => isRequired || isPart)
  const values = Object.fromEntries(asked.map((input) => [input.name, addVariable(input, variables)]))
  const { transport: type, ...members } = fillOption(option, description, values).members
  if (!('url' in members)) return { ...members, ...common }
  // values in a query are encoded, and a reference is none yet
  const references = Object.values(values)
  const url = references.reduce((text, each) => text.replaceAll(encodeURIComponent(each), each), members.url)
  return { ...members, ...common, type, url }
}
