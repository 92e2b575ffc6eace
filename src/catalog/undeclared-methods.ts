import type { Negotiation } from '../registry/model/model.ts'

/** Methods that legacy servers may support without declaring the capability, which some revisions and SDKs lack. */
export type TriedMethod = 'completion/complete' | 'resources/subscribe' | 'logging/setLevel'

/** Milliseconds after which a method that the server rejected is tried again. */
const REFUSED_MS = 600_000

/** Keyed by negotiation, so that a new negotiation with the server starts without results. */
const known = new WeakMap<Negotiation, Map<TriedMethod, { readonly has: boolean; readonly at: number }>>()

/** Returns whether the server supports an undeclared method; undefined if that was not tried recently. */
export function hasMethod(negotiation: Negotiation, method: TriedMethod): boolean | undefined {
  const found = known.get(negotiation)?.get(method)
  if (!found || (!found.has && performance.now() - found.at > REFUSED_MS)) return undefined
  return found.has
}

/** Records the result of trying a method. */
export function noteMethod(negotiation: Negotiation, method: TriedMethod, has: boolean): void {
  const methods = known.get(negotiation) ?? new Map<TriedMethod, { readonly has: boolean; readonly at: number }>()
  methods.set(method, { has, at: performance.now() })
  known.set(negotiation, methods)
}

/** True if a declared capability has the member with the value true. */
export const hasMember = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[name] === true

/** Returns true if an upstream supports `resources/subscribe`, by its capabilities or by experience. */
export const canFollow = (negotiation: Negotiation | null) =>
  hasMember(negotiation?.capabilities.resources, 'subscribe') ||
  (negotiation !== null && hasMethod(negotiation, 'resources/subscribe') === true)
