import type { Config } from '../config/config.ts'
import type { OwnsId } from '../domain/worker-ids.ts'
import { createDashboardEvents, type DashboardEvents } from '../control/dashboard/dashboard-events.ts'
import { createBatchScheduler, type BatchScheduler } from '../lib/batch-scheduler.ts'
import { createSlicedWork, type SlicedWork } from '../lib/time-slice.ts'
import type { Observer } from '../observe/observation.ts'
import type { StoredPolicy } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { ListenAddress } from '../upstream/http/egress.ts'
import { principalIdOf } from '../catalog/caller.ts'
import { createQuotas, type Quota, type Quotas } from '../lib/quota.ts'
import { createLiveCatalog, type LiveCatalog } from './live-catalog.ts'
import { createSignInLeases, type SignInLeases } from './sign-in-leases.ts'

export interface Log {
  debug(details: object, text: string): void
  info(details: object, text: string): void
  warn(details: object, text: string): void
  error(details: object, text: string): void
}

export interface GatewayOptions {
  readonly registry: Registry
  readonly config: Pick<
    Config,
    | 'mode'
    | 'traceContext'
    | 'auth'
    | 'publicUrl'
    | 'upstreamClientId'
    | 'console'
    | 'stdio'
    | 'egress'
    | 'resultSecrets'
    | 'timeouts'
    | 'limits'
    | 'spareSessions'
    | 'toolNames'
    | 'definitions'
    | 'policyDefault'
    | 'refreshIntervalMs'
    | 'staleLimitS'
    | 'catalogue'
    | 'approvalWebhook'
    | 'definitionsWebhook'
    | 'embeddings'
  >
  /** Tests if requests with an id of a session or parked call reach this worker; undefined: all do. */
  readonly ownsId?: OwnsId | undefined
  /** Product version. */
  readonly version: string
  /** Policies of the policy file. */
  readonly filePolicies?: readonly StoredPolicy[] | undefined
  /** Returns the gateway's own listen addresses; empty before the gateway listens. */
  readonly listenAddresses: () => readonly ListenAddress[]
  /** Observers of calls and upstreams; each implements only the functions that it needs. */
  readonly observers: readonly Partial<Observer>[]
  readonly log: Log
}

/** Parts that most others use. */
export interface GatewayBase {
  readonly options: GatewayOptions
  readonly live: LiveCatalog
  readonly leases: SignInLeases
  readonly events: DashboardEvents
  readonly quotas: Quotas
  /** Concurrent calls per principal. */
  readonly calls: Quota
  readonly schedule: BatchScheduler
  /** For results of servers too large for one turn of the event loop. */
  readonly slices: SlicedWork
  /** False in enterprise mode, which serves no dashboard. */
  readonly hasDashboard: boolean
}

/** Bytes of results that are read in slices at once: four of the largest. Beyond them a result of 8 MB takes 40 ms. */
const MAX_SLICED_BYTES = 67_108_864

/** Creates the parts that depend on nothing but the options. */
export function createBase(options: GatewayOptions): GatewayBase {
  const { mode, limits } = options.config
  const quotas = createQuotas(mode, principalIdOf)
  const leases = createSignInLeases()
  return {
    options,
    live: createLiveCatalog(leases),
    leases,
    events: createDashboardEvents(),
    quotas,
    calls: quotas.forUnits(limits.callsPerPrincipal),
    schedule: createBatchScheduler(),
    slices: createSlicedWork(MAX_SLICED_BYTES),
    hasDashboard: mode === 'development'
  }
}
