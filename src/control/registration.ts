import { isDeepStrictEqual } from 'node:util'
import { createRedactor } from '../domain/secrets/redaction.ts'
import { originOf } from '../domain/network/upstream-url.ts'
import { AppError, conflict, invalid, notFound } from '../lib/errors.ts'
import type {
  TokenGrantResult,
  UpstreamOffer,
  DiscoveryTimings,
  ServerConfig,
  StoredServer
} from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import { maskSettings } from '../registry/crypto/server-secrets.ts'
import type { Attempts, Purpose } from './attempts.ts'
import { boundIssuer } from '../upstream/oauth/bound-issuer.ts'
import type { Authorizations } from '../upstream/oauth/authorizations.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import { secretsOrNone } from './readable-secrets.ts'
import { leftOutRecord, serverRecord, type ServerRecord } from './server-records.ts'
import type {
  AuthorizationAnswer,
  AuthorizationRefusal,
  AuthorizationRequired,
  AuthorizationSession,
  ContactRecorder,
  SignInSessions
} from './sign-in.ts'
import { configTarget, hasCredential, secretsOf, type Target } from '../upstream/transports.ts'
import { fixedAuthorization, type Authorization } from '../upstream/transport/authorization.ts'
import { administrators, messageOf, toAppError, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { Caller } from '../catalog/caller.ts'
import { costOfRegistration, type StartCostRecord } from './start-costs.ts'

export interface RegistrationOptions {
  readonly registry: Registry
  readonly attempts: Attempts
  catalog(): Catalog
  /** Connects, negotiates the protocol version and reads the lists. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<UpstreamOffer>
  readonly sessions: SignInSessions
  readonly authorizations: Authorizations
  /** Called after a server was stored, which implies that it answered. */
  readonly onStored: (server: string, took?: DiscoveryTimings) => void
}

/** Registration of servers (http-contract.md#registration-input). Methods reject with AppError. */
export interface Registration {
  /**
   * Connects to a server, reads its lists and stores everything in one transaction. `force` replaces a server of the
   * same name. If the server requires OAuth and there is a redirect URI, nothing is stored before the sign-in is
   * completed. `saveDisabled` stores a server that does not answer disabled and without lists.
   */
  register(
    caller: Caller,
    config: ServerConfig,
    options: { force: boolean; saveDisabled?: boolean }
  ): Promise<ServerRecord | AuthorizationRequired>
  /** Registers an existing server again. The server and its remaining items keep their enabled flags. 404. */
  replace(caller: Caller, name: string, config: ServerConfig): Promise<ServerRecord | AuthorizationRequired>
}

/** OAuth sign-ins that registrations began. Methods reject with AppError. */
export interface SignIns {
  /** Exchanges the code for tokens and completes the registration or sign-in. 400, 404; a failure changes nothing. */
  complete(caller: Caller, answer: AuthorizationAnswer): Promise<ServerRecord>
  /** Ends the refused sign-in. 400, 404. */
  refuse(answer: AuthorizationRefusal): Promise<void>
  /** Returns a sign-in session; 404 also some time after its end. */
  find(id: string): Promise<AuthorizationSession>
}

/** Change to the registry, to be stored once the upstream has answered. */
interface RegistrationPlan {
  readonly config: ServerConfig
  /** True to remove an existing server of that name. */
  readonly force: boolean
  /** Existing server that gets the new configuration; null to create one. */
  readonly replaced: StoredServer | null
}

/** OAuth tokens to store: keep the existing ones, remove them, or replace them by those granted. */
type TokenUpdate = 'kept' | 'none' | TokenGrantResult

/** Limit of the stored reason why a server did not answer, in characters. */
const MAX_PROBLEM = 500
const asks = 'the upstream asks for authorization'
const credentials = 'give "bearer_token", or an "Authorization" header in "headers"'
const required = (text: string) => new AppError(400, text, { code: 'upstream_oauth_required' })
const signInUnknown = () => required(`${asks} and does not say how to sign in with OAuth: ${credentials}`)
const signInNeeded = ({ transport }: ServerConfig) =>
  required(
    transport === 'streamable_http'
      ? `${asks}: ${credentials}, or "oauth_redirect_uri" to sign in with OAuth`
      : `${asks}: ${credentials}`
  )

type OAuthClientSource = Partial<Pick<ServerConfig, 'url' | 'oauth_client_id' | 'oauth_client_secret' | 'oauth_scopes'>>
const oauthClientOf = ({ url, oauth_client_id, oauth_client_secret, oauth_scopes }: OAuthClientSource) =>
  [url, oauth_client_id, oauth_client_secret, oauth_scopes] as const

const isAuth = (error: unknown): error is UpstreamFailure => error instanceof UpstreamFailure && error.reason === 'auth'
const challengeOf = ({ cause }: UpstreamFailure) => (cause as { wwwAuthenticate?: string } | undefined)?.wwwAuthenticate

/** Returns the record of a server just stored, even if this process does not serve it yet: the write is committed. */
function storedRecord(
  { registry, catalog }: RegistrationOptions,
  caller: Caller,
  config: ServerConfig,
  enabled: boolean,
  cost: StartCostRecord = {}
): ServerRecord {
  const server = catalog().server(config.name)
  if (server) {
    const record = serverRecord(server, secretsOrNone(registry, server.stored), caller)
    return { ...record, ...leftOutRecord(server, caller), ...cost }
  }
  const { name, transport, session_mode, description = null } = config
  const record = serverRecord(
    { stored: { name, transport, session_mode, description, settings: maskSettings(config), enabled } },
    secretsOf(config),
    caller
  )
  return { ...record, ...cost }
}

/** Returns the existing tokens if they were issued for the same upstream and OAuth client. */
function reusableAuthorization(
  { registry, authorizations }: RegistrationOptions,
  { config, replaced }: RegistrationPlan
): Authorization | undefined {
  if (!replaced || replaced.issuer === null || hasCredential(secretsOf(config))) return undefined
  if ((config.oauth_issuer ?? replaced.issuer) !== replaced.issuer) return undefined
  const before = { ...replaced.settings, ...secretsOrNone(registry, replaced) }
  return isDeepStrictEqual(oauthClientOf(before), oauthClientOf(config)) ? authorizations.of(replaced) : undefined
}

/** Returns the issuer that the existing server of this name is bound to, if it has the same origin; else null. */
function boundIssuerOf(catalog: Catalog, { config, force, replaced }: RegistrationPlan): string | null {
  const before = replaced ?? (force ? catalog.server(config.name)?.stored : undefined)
  return before && originOf(before.settings.url) === originOf(config.url) ? boundIssuer(before) : null
}

/** Keeps the issuer of the configured OAuth client, even if the upstream requires no sign-in this time. */
function keepIssuer(catalog: Catalog, plan: RegistrationPlan): RegistrationPlan {
  const { config } = plan
  const issuer = config.oauth_client_id === undefined ? null : (config.oauth_issuer ?? boundIssuerOf(catalog, plan))
  return issuer === null ? plan : { ...plan, config: { ...config, oauth_issuer: issuer } }
}

async function signIn(
  { attempts, catalog, sessions }: RegistrationOptions,
  caller: Caller,
  plan: RegistrationPlan,
  challenge: string | undefined
): Promise<AuthorizationRequired> {
  const { config, force, replaced } = plan
  if (config.oauth_redirect_uri === undefined) throw signInNeeded(config)
  const request = {
    config,
    force,
    serverId: replaced?.id ?? null,
    challenge,
    boundTo: boundIssuerOf(catalog(), plan)
  }
  const begun = await attempts.run(caller, 'upstream_oauth.begin', configTarget(config), () => sessions.begin(request))
  if (!begun) throw signInUnknown()
  return begun
}

function throwAsAppError(error: unknown, name: string): never {
  if (!(error instanceof UpstreamFailure)) throw error
  if (error.reason === 'denied') throw new AppError(400, error.message, { cause: error })
  throw toAppError(error, name, administrators)
}

/**
 * Creates the operations that register and replace servers. If the upstream requires OAuth, a sign-in comes in between
 * (http-contract.md#registration-input).
 */
export function createRegistration(options: RegistrationOptions): { registration: Registration; signIns: SignIns } {
  const { registry, attempts, catalog, readOffer, sessions, onStored } = options

  const store = async (
    caller: Caller,
    action: string,
    plan: RegistrationPlan,
    offer: UpstreamOffer,
    tokens: TokenUpdate
  ) => {
    const { config, force, replaced } = plan
    await registry.write(auditChange(caller, action, config.name), async (tx) => {
      // kept tokens must be those of the row that was read: a concurrent request may have signed in elsewhere
      const seen = tokens === 'kept' ? (replaced ?? undefined) : undefined
      const id = await (replaced
        ? tx.servers.replace(config.name, config, offer, seen)
        : force
          ? tx.servers.recreate(config, offer)
          : tx.servers.create(config, offer))
      // a sign-in takes time: another server may have the name by now
      if (replaced && id !== replaced.id) throw notFound('server', config.name)
      if (tokens === 'none') await tx.tokens.remove(id)
      else if (tokens !== 'kept') await tx.tokens.upsert(id, tokens.source, tokens.grant)
    })
    onStored(config.name, offer.timings)
    return storedRecord(options, caller, config, replaced?.enabled ?? true, costOfRegistration(config, offer.timings))
  }

  const read = async (
    caller: Caller,
    purpose: Purpose,
    plan: RegistrationPlan
  ): Promise<{ offer: UpstreamOffer; tokens: TokenUpdate }> => {
    const authorization = reusableAuthorization(options, plan)
    const offerOf = (target: Target) => attempts.run(caller, purpose, target, readOffer)
    try {
      if (authorization) return { offer: await offerOf(configTarget(plan.config, authorization)), tokens: 'kept' }
    } catch (error) {
      if (!isAuth(error)) throw error
    }
    return { offer: await offerOf(configTarget(plan.config)), tokens: 'none' }
  }
  const storeDisabled = async (
    caller: Caller,
    action: Purpose,
    { config }: RegistrationPlan,
    failure: UpstreamFailure
  ) => {
    const problem = messageOf(failure, administrators).slice(0, MAX_PROBLEM)
    await registry.write(auditChange(caller, action, config.name), (tx) => tx.servers.createDisabled(config, problem))
    return storedRecord(options, caller, config, false)
  }
  const connect = async (caller: Caller, action: Purpose, plan: RegistrationPlan, saveDisabled = false) => {
    const { config } = plan
    let found: Awaited<ReturnType<typeof read>>
    try {
      found = await read(caller, action, plan)
    } catch (error) {
      const isAsked = isAuth(error) && error.status === 401 && !hasCredential(secretsOf(config))
      const isSaved = saveDisabled && !isAsked && error instanceof UpstreamFailure && error.reason !== 'denied'
      if (isSaved) return storeDisabled(caller, action, plan, error)
      return isAsked ? signIn(options, caller, plan, challengeOf(error)) : throwAsAppError(error, config.name)
    }
    const accepted = found.tokens === 'none' ? keepIssuer(catalog(), plan) : plan
    return store(caller, action, accepted, found.offer, found.tokens)
  }
  /** Records the contact with the authorization server, and with the upstream under the new tokens, as an attempt. */
  const recordContact =
    (caller: Caller): ContactRecorder =>
    ({ config }, work) =>
      attempts.run(caller, 'upstream_oauth.complete', configTarget(config), work)
  const stored = (id: string) => catalog().servers.find((server) => server.stored.id === id)?.stored

  const registration: Registration = {
    async register(caller, config, { force, saveDisabled }) {
      if (force && saveDisabled) throw invalid('"save" cannot be combined with "force": the old server stays as it is')
      if (!force && catalog().server(config.name)) throw conflict('server', config.name)
      return connect(caller, force ? 'server.force' : 'server.create', { config, force, replaced: null }, saveDisabled)
    },

    async replace(caller, name, config) {
      const server = catalog().server(name)
      if (!server) throw notFound('server', name)
      return connect(caller, 'server.replace', { config, force: false, replaced: server.stored })
    }
  }
  const signIns: SignIns = {
    complete: (caller, answer) =>
      sessions.complete(answer, recordContact(caller), async ({ config, force, serverId }, granted) => {
        const { grant, source } = granted
        const replaced = serverId === null ? null : stored(serverId)
        if (replaced === undefined) throw notFound('server', config.name)
        const redact = createRedactor([grant.access, grant.refresh ?? '', source.client.secret ?? ''])
        const target = configTarget(config, fixedAuthorization(grant.access, redact))
        const offer = await readOffer(target).catch((error: unknown) => throwAsAppError(error, config.name))
        const plan = { config, force, replaced }
        return store(caller, 'upstream_oauth.complete', plan, offer, granted)
      }),
    refuse: sessions.refuse,
    find: sessions.find
  }
  return { registration, signIns }
}
