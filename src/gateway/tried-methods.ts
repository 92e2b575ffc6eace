import type { Verdict } from '../registry/model.ts'

/** Methods that legacy servers may have without declaring so: capabilities came later than some, and SDKs forget others. */
export type TriedMethod = 'completion/complete' | 'resources/subscribe' | 'logging/setLevel'

/** A server that learns a method without being registered anew is asked again after that. */
const REFUSED_MS = 600_000

/** By what the server said of itself when it was registered or checked: what it says next is tried anew. */
const known = new WeakMap<Verdict, Map<TriedMethod, { readonly has: boolean; readonly at: number }>>()

/** Whether the server has a method that it does not declare; undefined where nobody has tried of late. */
export function hasMethod(verdict: Verdict, method: TriedMethod): boolean | undefined {
  const found = known.get(verdict)?.get(method)
  if (!found || (!found.has && performance.now() - found.at > REFUSED_MS)) return undefined
  return found.has
}

/** What came of trying. */
export function noteMethod(verdict: Verdict, method: TriedMethod, has: boolean): void {
  const methods = known.get(verdict) ?? new Map<TriedMethod, { readonly has: boolean; readonly at: number }>()
  methods.set(method, { has, at: performance.now() })
  known.set(verdict, methods)
}

/** True if a declared capability has the member with the value true. */
export const hasMember = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && (value as Record<string, unknown>)[name] === true

/** Whether an upstream takes subscriptions to its resources, as it says or as it turned out. */
export const canFollow = (verdict: Verdict | null) =>
  hasMember(verdict?.capabilities.resources, 'subscribe') ||
  (verdict !== null && hasMethod(verdict, 'resources/subscribe') === true)
