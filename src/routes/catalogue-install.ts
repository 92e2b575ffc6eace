import { createHash } from 'node:crypto'
import { MASK } from '../domain/secrets/secret-parts.ts'
import type { CatalogueEntry } from '../domain/catalogue/entry.ts'
import {
  fillOption,
  installOptions,
  suggestServerName,
  type InstallMembers,
  type InstallOption
} from '../domain/catalogue/install.ts'
import type { InstallInput, InstallValues } from '../domain/catalogue/slots.ts'
import { ENTRY_CHANGED } from '../domain/error-codes.ts'
import { AppError, invalid } from '../lib/errors.ts'
import type { CatalogueInput, CatalogueInstall, CatalogueOption, CataloguePlan } from '../schemas/catalogue.ts'
import type { ServerInput } from '../schemas/server.ts'

/** Writes a command as a shell would need it; for people only, since nothing is run through a shell. */
const shellWord = (word: string) => (/^[\w@%+=:,./<>-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** Returns everything that a registration would run, set or send, except its description. */
function previewOf(members: InstallMembers): Pick<CataloguePlan, 'preview' | 'env' | 'headers'> {
  return members.transport === 'stdio'
    ? { preview: [members.command, ...members.args].map(shellWord).join(' '), env: { ...members.env }, headers: {} }
    : { preview: members.url, env: {}, headers: { ...members.headers } }
}

const toInput = (input: InstallInput): CatalogueInput => {
  const { name, label, isRequired, isSecret, isRepeated, isPart: _, format, ...shown } = input
  return { name, label, is_required: isRequired, is_secret: isSecret, is_repeated: isRepeated, format, ...shown }
}

/** Returns a digest of everything that an entry decides about an installation: all except the values of a person. */
function digestOf({ plan, inputs }: InstallOption, description: string): string {
  const parts = plan && ('remote' in plan ? plan.remote : plan.command)
  return createHash('sha256')
    .update(JSON.stringify([description, inputs, { ...parts, inputs: undefined }]))
    .digest('base64url')
}

/** Converts an option to its form in answers. */
export function optionRecord(option: InstallOption, description: string): CatalogueOption {
  const { id, target, problem, inputs } = option
  if (problem !== undefined) return { id, target, problem, inputs: [] }
  const asked = inputs.filter((input) => input.isRequired && input.default === undefined)
  const { members } = fillOption(option, '', Object.fromEntries(asked.map(({ name }) => [name, `<${name}>`])))
  return { id, target, ...previewOf(members), digest: digestOf(option, description), inputs: inputs.map(toInput) }
}

/** Returns the chosen option; by default the first that is supported. Throws AppError 400. */
function chooseOption(entry: CatalogueEntry, id: string | undefined): InstallOption {
  const options = installOptions(entry)
  const chosen = id === undefined ? (options.find(({ plan }) => plan) ?? options[0]) : options.find((o) => o.id === id)
  if (!chosen) {
    const ids = options.map((option) => option.id).join(', ')
    throw invalid(ids === '' ? 'the server has neither a package nor an address' : `"option" must be one of ${ids}`)
  }
  if (chosen.problem !== undefined) throw invalid(`the option "${chosen.id}" cannot be installed: ${chosen.problem}`)
  return chosen
}

const maskSecrets = (inputs: readonly InstallInput[], values: InstallValues): InstallValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const isSecret = inputs.find((input) => input.name === name)?.isSecret
      return [name, isSecret ? [value].flat().map((text) => (text === '' ? '' : MASK)) : value]
    })
  )

/** A chosen option with its values */
export interface Installation {
  /** Without the values of secret inputs */
  readonly plan: CataloguePlan
  /** Returns the body of the registration. Throws AppError 400 if values are missing or not valid. */
  registration(): ServerInput
}

const changed = (problem: string) => new AppError(409, problem, { code: ENTRY_CHANGED })

/** Reads how a server of the catalogue is to be installed. Throws AppError 400, or 409 if the entry has changed. */
export function readInstallation(entry: CatalogueEntry, request: CatalogueInstall): Installation {
  const { version, option: id, values = {}, digest, session_mode, oauth_redirect_uri } = request
  if (version !== undefined && version !== entry.version)
    throw changed(`the catalogue has the version ${entry.version} of "${entry.name}" now`)
  const option = chooseOption(entry, id)
  const currentDigest = digestOf(option, entry.description)
  if (digest !== undefined && digest !== currentDigest)
    throw changed(`the entry "${entry.name}" has changed since it was shown, under the same version: look at it again`)
  const name = request.server_name ?? suggestServerName(entry.name)
  const { members, missing, problems } = fillOption(option, entry.description, values)
  const shown = fillOption(option, '', maskSecrets(option.inputs, values)).members
  return {
    plan: {
      server_name: name,
      option: option.id,
      transport: members.transport,
      ...previewOf(shown),
      digest: currentDigest,
      missing: [...missing],
      problems: [...problems]
    },
    registration() {
      if (missing.length > 0)
        throw new AppError(400, `values are missing: ${missing.join(', ')}`, { code: 'values_missing' })
      if (problems.length > 0) throw invalid(problems[0]!)
      return {
        name,
        ...members,
        ...(session_mode === undefined ? {} : { session_mode }),
        ...(oauth_redirect_uri === undefined || members.transport === 'stdio' ? {} : { oauth_redirect_uri })
      }
    }
  }
}
