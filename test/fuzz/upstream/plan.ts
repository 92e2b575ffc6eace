import { createRandom, type Random } from '../random.ts'
import { kinds } from './messages.ts'

/** Damage applied to all messages of one kind. */
export interface Damage {
  /** Kind of message, or framing: see `kinds` and `framedOnly`. */
  readonly on: string
  readonly how: 'json' | 'framing'
  readonly seed: number
}

export const transports = ['stdio', 'streamable_http', 'sse', 'oauth'] as const
export type Transport = (typeof transports)[number]

export const actions = [
  'refresh',
  'call rest',
  'call legacy',
  'call modern',
  'batch',
  'prompt',
  'read',
  'complete',
  'subscribe',
  'log level',
  'announce',
  'switch',
  'replace'
] as const
export type Action = (typeof actions)[number]

/** Behaviour of one server, and the actions on it. */
export interface Plan {
  readonly transport: Transport
  /** False: only the legacy era. */
  readonly isModern: boolean
  readonly hasSessions: boolean
  readonly answersEvents: boolean
  readonly refusesTokens: boolean
  readonly sessionMode: 'stateless' | 'stateful'
  /** True if it is registered before it misbehaves. */
  readonly beginsWell: boolean
  readonly damages: readonly Damage[]
  readonly actions: readonly Action[]
}

const oauthKinds = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
  '/register',
  '/token',
  '/refusal'
]
/** Messages with a frame but without JSON of their own to change. */
const framedOnly: Readonly<Record<Transport, readonly string[]>> = {
  stdio: [],
  streamable_http: ['tools/call stream', 'tools/list stream', 'GET'],
  sse: ['endpoint', 'GET'],
  oauth: ['challenge', 'challenge']
}

function makeDamage(random: Random, transport: Transport): Damage {
  const how = random.chance(transport === 'oauth' ? 0.6 : 0.75) ? 'json' : 'framing'
  const own = transport === 'oauth' ? oauthKinds : kinds
  const on = random.pick(how === 'json' ? own : [...own, ...framedOnly[transport]])
  return { on, how, seed: random.below(2 ** 31) }
}

/** Actions whose result shows the damage, by kind. */
const shows: readonly (readonly [pattern: RegExp, actions: readonly Action[]])[] = [
  [
    /^tools\/call|sampling|elicitation|roots|custom|progress|message|updated|changed|cancelled/,
    ['call legacy', 'call modern', 'call rest', 'batch', 'announce']
  ],
  [/list|initialize|discover/, ['refresh', 'replace', 'announce']],
  [/prompts\/get/, ['prompt']],
  [/resources\/read/, ['read']],
  [/completion/, ['complete']],
  [/subscribe|updated|GET/, ['subscribe']],
  [/setLevel/, ['log level']]
]

function makeActions(random: Random, damages: readonly Damage[]): Action[] {
  const telling = damages.flatMap(({ on }) => shows.flatMap(([pattern, some]) => (pattern.test(on) ? some : [])))
  const others = Array.from({ length: 1 + random.below(3) }, () => random.pick(actions))
  return [...new Set([...telling.filter(() => random.chance(0.7)), ...others])]
}

/** Returns the plan with this number, the same for the same seed. */
export function makePlan(seed: number, number: number): Plan {
  const random = createRandom(Math.imul(seed, 0x9e3779b1) + number)
  const transport = random.pick([...transports, 'stdio', 'streamable_http', 'streamable_http', 'sse'] as const)
  const damages = Array.from({ length: random.chance(0.7) ? 1 : 2 + random.below(3) }, () =>
    makeDamage(random, transport)
  )
  return {
    transport,
    isModern: random.chance(0.5),
    hasSessions: random.chance(0.7),
    answersEvents: random.chance(0.4),
    refusesTokens: random.chance(0.3),
    sessionMode: random.chance(0.5) ? 'stateful' : 'stateless',
    beginsWell: random.chance(0.5),
    damages,
    actions: makeActions(random, damages)
  }
}

/** Returns reduced plans, the simplest first: candidates for the smallest failing one. */
export function simpler(plan: Plan): Plan[] {
  const without = <T>(list: readonly T[]) => list.map((_, at) => list.filter((__, i) => i !== at))
  return [
    ...(plan.damages.length > 1 ? without(plan.damages).map((damages) => ({ ...plan, damages })) : []),
    ...without(plan.actions).map((some) => ({ ...plan, actions: some }))
  ]
}
