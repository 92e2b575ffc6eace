import type { Members } from '../domain/difference.ts'
import { checkBody, FILED, type Filed } from './check.ts'
import type { Cli } from './cli.ts'
import { readWanted, type Wanted } from './desired.ts'
import { EXIT, Failure, usage } from './failure.ts'
import { itemPath, KINDS } from './kinds.ts'
import { changeOf, normalised, type Change } from './plan.ts'
import { withToken } from './secret.ts'
import { currentOf } from './state.ts'
import { readSwitches, setSwitches, switchesBefore } from './switches.ts'
import { newToken } from './tokens.ts'

/** A change and how it is made. */
export interface Step extends Change {
  run(): Promise<void>
}

/** Everything that is wanted, by kind, against everything that is. */
export interface Situation {
  readonly cli: Cli
  readonly wanted: readonly Wanted[]
  readonly current: ReadonlyMap<Filed, ReadonlyMap<string, Members> | undefined>
}

const masked = '***'

async function planServer({ cli, current }: Situation, wanted: Wanted): Promise<Step | undefined> {
  const { kind, name, given, switches } = wanted
  checkBody(kind, given)
  const before = current.get(kind)!.get(name)
  const [old, body] = [before && normalised(kind, before), normalised(kind, given.value)]
  const isSame = old !== undefined && changeOf(kind, name, old, body) === undefined
  const on = old && switches ? switchesBefore(switches, await readSwitches(cli, name)) : {}
  const was = old && { ...old, ...on }
  const change = changeOf(kind, name, was, { ...body, ...switches })
  if (!change) return undefined
  const path = old ? itemPath('server', name) : KINDS.server.path
  return {
    ...change,
    async run() {
      if (!isSame) await sendServer(cli, old ? 'PUT' : 'POST', path, given.value)
      await setSwitches(cli, name, switches)
    }
  }
}

async function sendServer(cli: Cli, method: string, path: string, body: object): Promise<void> {
  const answer = await cli.api.send<{ authorization_required?: { authorization_url: string } }>(method, path, body)
  const pending = answer.body.authorization_required
  if (pending) throw new Failure(EXIT.failed, `it waits for a sign-in at ${pending.authorization_url}`)
}

function planGroup({ cli, current }: Situation, { kind, name, given }: Wanted): Step | undefined {
  checkBody(kind, given)
  const before = current.get(kind)!.get(name)
  const body = normalised(kind, given.value)
  const change = changeOf(kind, name, before && normalised(kind, before), body)
  if (!change) return undefined
  const { group } = KINDS
  const run = () => (before ? cli.api.put(itemPath('group', name), body) : cli.api.post(group.path, body))
  return { ...change, run: async () => void (await run()) }
}

async function planPrincipal({ cli, current }: Situation, wanted: Wanted): Promise<Step | undefined> {
  const { kind, name, given } = wanted
  const before = current.get(kind)?.get(name)
  const token = before ? await newToken(cli, wanted) : (await withToken(cli, given, true)).access_token
  const { access_token_ref: _reference, access_token: _token, ...value } = given.value
  checkBody(kind, { ...given, value: { ...value, ...(token === undefined ? {} : { access_token: token }) } })
  const role = before && kind === 'user' && value.role === undefined ? { role: before.role } : {}
  const body = normalised(kind, { ...value, ...role })
  const old = before && normalised(kind, before)
  const secret = token === undefined ? {} : { access_token: masked }
  const change = changeOf(kind, name, old, { ...body, ...secret })
  if (!change) return undefined
  if (old && old.role !== body.role)
    throw usage(`${given.from}: the role of user "${name}" cannot be changed`, 'delete the user first')
  const sent = { ...body, ...(token === undefined ? {} : { access_token: token }) }
  const replacement = kind === 'user' ? { access_token: token } : { description: '', ...sent }
  const run = () => (before ? cli.api.put(itemPath(kind, name), replacement) : cli.api.post(KINDS[kind].path, sent))
  return { ...change, run: async () => void (await run()) }
}

const planners: {
  readonly [kind in Filed]: (situation: Situation, wanted: Wanted) => Promise<Step | undefined> | Step | undefined
} = {
  server: planServer,
  group: planGroup,
  client: planPrincipal,
  user: planPrincipal
}

/** Who this command line is: it does not delete itself. */
async function ownName(cli: Cli): Promise<string | undefined> {
  const { body } = await cli.api.get<{ name?: string }>('/api/v0/users/whoami')
  return body.name
}

/** What is there and not wanted, of the kinds that the files hold anything of; what others name goes last. */
async function planPrune({ cli, wanted, current }: Situation): Promise<Step[]> {
  const steps: Step[] = []
  for (const kind of ['group', 'client', 'user', 'server'] as const) {
    const names = new Set(wanted.flatMap((each) => (each.kind === kind ? [each.name] : [])))
    if (names.size === 0) continue
    const own = kind === 'user' && current.get(kind) ? await ownName(cli) : undefined
    for (const [name, before] of current.get(kind) ?? []) {
      if (names.has(name)) continue
      if (name === own) cli.warn(`user "${name}" is not in the files, but it is who asks: it stays`)
      const change = name === own ? undefined : changeOf(kind, name, normalised(kind, before))
      if (change) steps.push({ ...change, run: async () => void (await cli.api.remove(itemPath(kind, name))) })
    }
  }
  return steps
}

export async function readSituation(cli: Cli, path: string): Promise<Situation> {
  const all = await readWanted(cli, path)
  const current = new Map<Filed, ReadonlyMap<string, Members> | undefined>()
  for (const kind of FILED.filter((each) => all.some((wanted) => wanted.kind === each)))
    current.set(kind, await currentOf(cli, kind))
  const wanted = all.filter(({ kind }) => current.get(kind))
  if (wanted.length < all.length) cli.warn('the gateway is in development mode: clients and users are left out')
  return { cli, wanted, current }
}

/** Nothing is sent before every step is known. */
export async function planSteps(situation: Situation, isPruned: boolean): Promise<Step[]> {
  const steps: Step[] = []
  for (const kind of FILED) {
    for (const wanted of situation.wanted.filter((each) => each.kind === kind)) {
      const step = await planners[kind](situation, wanted)
      if (step) steps.push(step)
    }
  }
  return isPruned ? [...steps, ...(await planPrune(situation))] : steps
}
