import { maskLocks, secretsOfLocks, type ToolOverrides } from '../../domain/overrides/tool-overrides.ts'
import type { Members } from '../../domain/secrets/difference.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { checkBody, checkPolicy } from './check.ts'
import type { Cli } from '../io/cli.ts'
import { readDesired, type DesiredResource } from './desired.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { DECLARED, declaredPath, FILE_KINDS, type FileKind } from '../io/kinds.ts'
import { isFatal } from './exit-codes.ts'
import { diffResource, normalise, type Change } from './plan.ts'
import { isObject } from '../../domain/is-object.ts'
import type { InputObject } from '../io/input.ts'
import { resolveToken } from '../io/secret.ts'
import { readCurrent } from './state.ts'
import { readSwitches, setSwitches, currentSwitches } from './switches.ts'
import { comparePins, type PinsOfFile } from './pins.ts'
import { replacementToken } from './tokens.ts'

/** A change and the function that makes it. */
export interface Step extends Change {
  run(): Promise<void>
}

/** Declarations, and current configurations by kind and name. */
export interface PlanContext {
  readonly cli: Cli
  readonly desired: readonly DesiredResource[]
  readonly current: ReadonlyMap<FileKind, ReadonlyMap<string, Members> | undefined>
}

async function planServer({ cli, current }: PlanContext, desired: DesiredResource): Promise<Step | undefined> {
  const { kind, name, input, switches } = desired
  checkBody(kind, input)
  const before = current.get(kind)!.get(name)
  const [old, body] = [before && normalise(kind, before), normalise(kind, input.value)]
  const isSame = old !== undefined && diffResource(kind, name, old, body) === undefined
  const oldSwitches = old && switches ? currentSwitches(switches, await readSwitches(cli, name)) : {}
  const oldState = old && { ...old, ...oldSwitches }
  const pins = input.value.pins as PinsOfFile | undefined
  const pinned = old && pins ? await comparePins(cli, name, pins) : undefined
  const change = diffResource(kind, name, oldState && { ...oldState, ...(pinned && { pins: pinned.before }) }, {
    ...body,
    ...switches,
    ...(old ? pinned && { pins: pinned.after } : pins && { pins })
  })
  if (!change) return undefined
  const path = old ? declaredPath(kind, name) : DECLARED.server.path
  return {
    ...change,
    async run() {
      if (!isSame || pinned) await sendServer(cli, old ? 'PUT' : 'POST', path, input.value)
      await setSwitches(cli, name, switches)
    }
  }
}

async function sendServer(cli: Cli, method: string, path: string, body: object): Promise<void> {
  const answer = await cli.api.send<{ authorization_required?: { authorization_url: string } }>(method, path, body)
  const pending = answer.body.authorization_required
  if (pending) throw new Failure(EXIT.failed, `sign-in required: ${pending.authorization_url}`)
}

function planTeam(context: PlanContext, desired: DesiredResource): Step | undefined {
  checkBody(desired.kind, desired.input)
  return planWhole(context, desired)
}

/** Plans a group like other resources; only the gateway can tell whether the secrets in its locks are still the same. */
async function planGroup({ cli, current }: PlanContext, { kind, name, input }: DesiredResource) {
  checkBody(kind, input)
  const before = current.get(kind)!.get(name)
  const body = normalise(kind, input.value)
  const tools = (body.tools ?? {}) as ToolOverrides
  const hasSecrets = Object.keys(secretsOfLocks(tools)).length > 0
  const shown = hasSecrets ? { ...body, tools: maskLocks(tools) } : body
  const locks = before && hasSecrets && (await changesSecrets(cli, body)) ? { locks: { secrets: tools } } : {}
  const change = diffResource(kind, name, before && normalise(kind, before), { ...shown, ...locks })
  if (!change) return undefined
  const run = () => (before ? cli.api.put(declaredPath(kind, name), body) : cli.api.post(DECLARED[kind].path, body))
  return { ...change, run: async () => void (await run()) }
}

async function changesSecrets(cli: Cli, body: object): Promise<boolean> {
  try {
    const answer = await cli.api.post<{ changes_secrets?: boolean }>(`${DECLARED.group.path}/preview`, body)
    return answer.body.changes_secrets === true
  } catch (error) {
    if (!(error instanceof Failure) || isFatal(error)) throw error
    // the group may need servers that are added before it
    return true
  }
}

async function planPolicy(context: PlanContext, desired: DesiredResource): Promise<Step | undefined> {
  await checkPolicy(desired.input)
  return planWhole(context, desired)
}

/** Plans to create a resource, or to replace it by its declaration. */
function planWhole({ cli, current }: PlanContext, { kind, name, input }: DesiredResource): Step | undefined {
  const before = current.get(kind)!.get(name)
  const body = normalise(kind, input.value)
  const change = diffResource(kind, name, before && normalise(kind, before), body)
  if (!change) return undefined
  const run = () => (before ? cli.api.put(declaredPath(kind, name), body) : cli.api.post(DECLARED[kind].path, body))
  return { ...change, run: async () => void (await run()) }
}

async function planPrincipal({ cli, current }: PlanContext, desired: DesiredResource): Promise<Step | undefined> {
  const { kind, name, input } = desired
  const before = current.get(kind)?.get(name)
  const state = kind === 'user' ? userState(input, before) : {}
  const token = before ? await replacementToken(cli, desired) : (await resolveToken(cli, input, true)).access_token
  const { access_token_ref: _reference, access_token: _token, suspended: _state, ...value } = input.value
  checkBody(kind, { ...input, value: { ...value, ...(token === undefined ? {} : { access_token: token }) } })
  const body = normalise(kind, { ...value, ...state })
  const old = before && normalise(kind, before)
  const secret = token === undefined ? {} : { access_token: MASK }
  const change = diffResource(kind, name, old, { ...body, ...secret })
  if (!change) return undefined
  const { suspended: _suspended, ...members } = body
  const requestBody = { ...members, ...(token === undefined ? {} : { access_token: token }) }
  const path = declaredPath(kind, name)
  const run = async () => {
    if (!old) await cli.api.post(DECLARED[kind].path, requestBody)
    else if (kind === 'client') await cli.api.put(path, { description: '', ...withoutKeys(old), ...requestBody })
    else if (token !== undefined) await cli.api.put(path, { access_token: token })
    if (kind === 'user') await changeUser(cli, path, old ?? { role: body.role }, body)
  }
  return { ...change, run }
}

/** Returns the members that remove the keys of a client, if it has any. */
const withoutKeys = ({ jwks, jwks_uri }: Members): Members => ({
  ...(jwks === undefined ? {} : { jwks: null }),
  ...(jwks_uri === undefined ? {} : { jwks_uri: null })
})

/** Returns role and suspension as declared, or as they are where the file does not say. */
function userState({ value: { role, suspended }, from }: InputObject, before: Members | undefined): Members {
  if (suspended !== undefined && typeof suspended !== 'boolean')
    throw usage(`${from}: "suspended" must be true or false`)
  return { role: role ?? before?.role ?? 'user', suspended: suspended ?? before?.suspended }
}

/** Changes role and suspension of a user where they differ. */
async function changeUser(cli: Cli, path: string, before: Members, after: Members): Promise<void> {
  if (before.role !== after.role) await cli.api.put(`${path}/role`, { role: after.role })
  if (before.suspended !== after.suspended) {
    await cli.api.post(`${path}/${after.suspended === true ? 'suspend' : 'resume'}`, {})
  }
}

const planners: {
  readonly [kind in FileKind]: (
    context: PlanContext,
    desired: DesiredResource
  ) => Promise<Step | undefined> | Step | undefined
} = {
  server: planServer,
  group: planGroup,
  client: planPrincipal,
  user: planPrincipal,
  team: planTeam,
  policy: planPolicy
}

/** Returns the caller's own user name, which `--prune` never deletes. */
async function ownName(cli: Cli): Promise<string | undefined> {
  const { body } = await cli.api.get<{ name?: string }>('/api/v0/users/whoami')
  return body.name
}

/**
 * Plans the deletion of undeclared resources, for each kind with at least one declaration. What refers to others
 * goes before them.
 */
async function planPrune({ cli, desired, current }: PlanContext): Promise<Step[]> {
  const steps: Step[] = []
  for (const kind of ['policy', 'team', 'group', 'client', 'user', 'server'] as const) {
    const names = new Set(desired.flatMap((each) => (each.kind === kind ? [each.name] : [])))
    if (names.size === 0) continue
    const ownUserName = kind === 'user' && current.get(kind) ? await ownName(cli) : undefined
    for (const [name, before] of current.get(kind) ?? []) {
      if (names.has(name) || before.source === 'file') continue
      if (name === ownUserName)
        cli.warn(`user "${name}" is not in the files, but you are signed in as this user: not deleted`)
      const change = name === ownUserName ? undefined : diffResource(kind, name, normalise(kind, before))
      if (change) steps.push({ ...change, run: async () => void (await cli.api.remove(declaredPath(kind, name))) })
    }
  }
  return steps
}

const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/

/** Replaces strings that still refer to a variable by the current value at the same place. */
function fillUnset(declared: unknown, current: unknown): unknown {
  if (typeof declared === 'string') return REFERENCE.test(declared) && current !== undefined ? current : declared
  if (Array.isArray(declared)) {
    const others: readonly unknown[] = Array.isArray(current) ? current : []
    return declared.map((each, index) => fillUnset(each, others[index]))
  }
  if (!isObject(declared)) return declared
  const other = isObject(current) ? current : {}
  return Object.fromEntries(Object.entries(declared).map(([key, each]) => [key, fillUnset(each, other[key])]))
}

/** A token is compared with nothing: the gateway never returns it. */
function withCurrentSecrets(desired: DesiredResource, current: PlanContext['current']): DesiredResource {
  const { kind, name, input } = desired
  const before = current.get(kind)?.get(name)
  const { access_token: token, ...rest } = input.value
  const isUnset = typeof token === 'string' && REFERENCE.test(token)
  const value = fillUnset(before && isUnset ? rest : input.value, before) as InputObject['value']
  return { ...desired, input: { ...input, value } }
}

/** `isPreview`: nothing will be sent, so that secrets whose variables are unset count as unchanged. */
export async function readPlanContext(cli: Cli, path: string, isPreview: boolean): Promise<PlanContext> {
  const all = await readDesired(cli, path, isPreview)
  const current = new Map<FileKind, ReadonlyMap<string, Members> | undefined>()
  for (const kind of FILE_KINDS.filter((each) => all.some((desired) => desired.kind === each)))
    current.set(kind, await readCurrent(cli, kind))
  const desired = all.filter(({ kind }) => current.get(kind))
  if (desired.length < all.length)
    cli.warn('the gateway is in development mode: clients, users, teams and policies are skipped')
  const kept = isPreview ? desired.map((each) => withCurrentSecrets(each, current)) : desired
  return { cli, desired: kept, current }
}

const opens = ({ kind, input }: DesiredResource) => Number(kind === 'policy' && input.value.effect !== 'deny')

/** Policies that deny go first: nothing is open in between that is closed in the end. */
const byRestriction = (a: DesiredResource, b: DesiredResource) => opens(a) - opens(b)

/** Plans all steps before any request changes the gateway. */
export async function planSteps(context: PlanContext, prunes: boolean): Promise<Step[]> {
  const steps: Step[] = []
  for (const kind of FILE_KINDS) {
    for (const desired of context.desired.filter((each) => each.kind === kind).toSorted(byRestriction)) {
      const step = await planners[kind](context, desired)
      if (step) steps.push(step)
    }
  }
  return prunes ? [...steps, ...(await planPrune(context))] : steps
}
