import { ENTRY_CHANGED } from '../../domain/error-codes.ts'
import { escapeText } from '../../domain/text/text.ts'
import type {
  CatalogueDetails,
  CatalogueInput,
  CatalogueInstall,
  CatalogueOption,
  CataloguePage,
  CataloguePlan
} from '../../schemas/catalogue.ts'
import { withQuery } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, notFound, usage } from '../io/failure.ts'
import { expandVariables, parsePairs } from '../io/input.ts'
import { askSecret, askText, confirm } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'
import { secretFromStdin } from '../io/secret.ts'
import { isPending, needsSignIn, registerWithSignIn, type RegistrationResponse } from '../io/sign-in.ts'
import { recordView } from '../output/views.ts'

interface Flags {
  readonly as?: string
  readonly package?: string
  readonly set?: readonly string[]
  readonly setStdin?: string
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly browser: boolean
}

type Values = Record<string, string | string[]>

const PATH = '/api/v0/catalogue'
const INSTALL = `${PATH}/install`

/** More UTF-16 units than a publisher can write: nothing of what would run or be sent is left out. */
const MAX_SHOWN = 262_144

/** Makes a text of a publisher safe for the terminal. */
const shown = (text: string) => escapeText(text, MAX_SHOWN)

/** Finds a server by its name, or by the short name that it would get, if only one server has it. */
async function findServer(cli: Cli, name: string): Promise<CatalogueDetails> {
  const get = async (full: string) => (await cli.api.get<CatalogueDetails>(`${PATH}/${encodeURIComponent(full)}`)).body
  if (name.includes('/')) return get(name)
  const query = withQuery(PATH, { search: name, limit: 100 })
  const { servers } = (await cli.api.get<CataloguePage>(query)).body
  const named = servers.filter((server) => server.suggested_name.toLowerCase() === name.toLowerCase())
  if (named.length === 1) return get(named[0]!.name)
  const found = (named.length > 0 ? named : servers).slice(0, 5).map((server) => shown(server.name))
  throw notFound(
    named.length > 1 ? `several servers are called "${name}"` : `the catalogue has no server "${name}"`,
    found.length > 0 ? `use the full name: ${found.join(', ')}` : 'find one with `towpath search`'
  )
}

function chooseOption({ name, options }: CatalogueDetails, id: string | undefined): CatalogueOption {
  const usable = options.filter(({ problem }) => problem === undefined)
  const chosen = id === undefined ? (usable[0] ?? options[0]) : options.find((option) => option.id === id)
  if (!chosen)
    throw usage(`"${name}" has no package "${id}"`, `it has ${options.map((option) => option.id).join(', ')}`)
  if (chosen.problem !== undefined) throw usage(`"${name}" cannot be installed as ${chosen.id}: ${chosen.problem}`)
  return chosen
}

/** Returns the values given by flags. `NAME` without a value reads it from the environment. */
async function givenValues(cli: Cli, { set = [], setStdin }: Flags): Promise<Values> {
  const pairs = parsePairs(
    set.map((each) => (each.includes('=') ? each : `${each}=\${${each}}`)),
    '--set'
  )
  const values: Values = {}
  for (const [name, text] of expandVariables(cli.io, pairs, 'the command line') as [string, string][]) {
    const before = values[name]
    values[name] = before === undefined ? text : [before, text].flat()
  }
  if (setStdin !== undefined) values[setStdin] = await secretFromStdin(cli, '--set-stdin')
  return values
}

async function ask({ io }: Cli, { name, label, description, is_secret: isSecret, choices }: CatalogueInput) {
  const about = [description, label === name ? undefined : label, choices?.join(', ')].filter(Boolean).join('; ')
  const question = `${shown(name)}${about === '' ? '' : ` (${shown(about)})`}: `
  return isSecret ? askSecret(io, question) : askText(io, question)
}

/** Asks for required values on a terminal. Elsewhere the error lists all of them at once. */
async function askMissing(cli: Cli, inputs: readonly CatalogueInput[], values: Values): Promise<Values> {
  const missing = inputs.filter(
    (input) => input.is_required && input.default === undefined && values[input.name] === undefined
  )
  if (missing.length === 0) return values
  if (!cli.canPrompt) {
    const lines = missing.map(({ name, description }) => `  ${name}${description ? `: ${shown(description)}` : ''}`)
    throw usage(
      `values are missing:\n${lines.join('\n')}`,
      missing.map(({ name, is_secret }) => (is_secret ? `--set ${name}` : `--set ${name}=…`)).join(' ')
    )
  }
  const answers = { ...values }
  for (const input of missing) answers[input.name] = await ask(cli, input)
  return answers
}

/** Shows what the gateway will do, and asks. Nothing starts without a confirmation. */
async function confirmPlan(cli: Cli, plan: CataloguePlan): Promise<boolean> {
  const { transport, preview, server_name, env, headers } = plan
  const verb = transport === 'stdio' ? 'run' : 'connect to'
  const pairs = [
    ...Object.entries(env).map(([name, value]) => `  variable ${name}=${value}`),
    ...Object.entries(headers).map(([name, value]) => `  header ${name}: ${value}`)
  ]
  cli.announce([`the gateway will ${verb}: ${preview}`, ...pairs].map(shown).join('\n'))
  if (cli.assumesYes) return true
  if (!cli.canPrompt) throw usage('an installation needs a confirmation', 'confirm with --yes')
  return confirm(cli.io, `Register it as "${server_name}"?`)
}

async function post(cli: Cli, body: CatalogueInstall, { force }: Flags): Promise<RegistrationResponse> {
  try {
    return await cli.api.post(`${INSTALL}${force ? '?force=true' : ''}`, body, { reason: `installing ${body.name}` })
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.conflict) throw error
    const hint =
      error.code === ENTRY_CHANGED
        ? 'nothing was installed; install it again to see what has changed'
        : 'replace it with --force, or choose another name with --as'
    throw new Failure(error.exitCode, error.message, { hint, code: error.code })
  }
}

/** Installs a server of the catalogue (docs/how-to/catalogue.md). */
export const install: Action<Flags> = async (cli, [name = ''], flags) => {
  const server = await findServer(cli, name)
  const option = chooseOption(server, flags.package)
  const values = await askMissing(cli, option.inputs, await givenValues(cli, flags))
  const asked: CatalogueInstall = {
    name: server.name,
    version: server.version,
    option: option.id,
    ...(flags.as === undefined ? {} : { server_name: flags.as }),
    values
  }
  const plan = await cli.api.post<CataloguePlan>(`${INSTALL}?dry_run=true`, asked)
  if (flags.dryRun) return cli.show(plan, recordView(plan.body, plan.body.server_name))
  const [problem] = plan.body.problems
  if (problem !== undefined) throw usage(problem)
  if (!(await confirmPlan(cli, plan.body))) return cli.note('nothing was installed')
  // the digest makes sure that what is shown is what runs
  const body = { ...asked, digest: plan.body.digest }
  const answer = await post(cli, body, flags).catch((error: unknown) => {
    if (!needsSignIn(error)) throw error
    return registerWithSignIn(cli, flags.browser, (uri) => post(cli, { ...body, oauth_redirect_uri: uri }, flags))
  })
  if (isPending(answer.body)) cli.note(`"${plan.body.server_name}" requires a sign-in in the browser`)
  else cli.note(`registered server "${answer.body.name}"`)
  await cli.show(answer, recordView(isPending(answer.body) ? answer.body.authorization_required : answer.body))
}
