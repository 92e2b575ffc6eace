import { tools } from './messages.mjs'

/** Tools specific to a transport, in addition to those of all transports. */
export const own = {
  bad: [
    'endless',
    'crumbs',
    'bomb',
    'redirects',
    'elsewhere',
    'headers',
    'hints',
    'reset',
    'resume',
    'page',
    'taken',
    'unauthorized',
    'trailers'
  ],
  newer: ['endless', 'crumbs'],
  old: ['endless', 'crumbs', 'endpoints', 'ends'],
  child: ['stderr', 'endless', 'crumbs', 'exits', 'zombies', 'deaf', 'stops', 'mute']
} as const

/** Names of the hostile servers: over HTTP, of the modern era, over HTTP+SSE, over stdio. */
const servers = Object.keys(own) as (keyof typeof own)[]

/** Every tool to call, with its server. `turned` fails its handshake, so its tools do not matter. */
const callable: readonly (readonly [server: string, tool: string])[] = [
  ...servers.flatMap((server) => [...tools, ...own[server]].map((tool) => [server, tool] as const)),
  ['turned', 'plain']
]

/** Names of all hostile servers: the last one fails its handshakes. */
export const allServers: readonly string[] = [...servers, 'turned']

/** Returns the tools of these servers. */
export const callableOf = (names: readonly string[]) => callable.filter(([server]) => names.includes(server))
