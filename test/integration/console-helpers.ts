import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { startRecorder, type Recorder } from '../fixtures/http/recorder.ts'
import {
  ADMIN,
  startSignInGateway,
  type SignInGateway,
  type SignInGatewayOptions
} from '../fixtures/identity-provider/gateway.ts'

/** Roles of the console, and nobody. */
export const viewers = ['nobody', 'user', 'auditor', 'admin'] as const
export type ViewerRole = (typeof viewers)[number]

/** A gateway with the console, and people of each role who are signed in with a browser. */
export interface Console {
  readonly gateway: SignInGateway
  readonly recorder: Recorder
  /** Sends a request as a person's browser does from a page of the console. */
  send(role: ViewerRole, method: string, path: string, init?: SendInit): Promise<Response>
  /** Returns the cookie of a person's session. */
  cookieOf(role: ViewerRole): string
}

export interface SendInit {
  readonly body?: object
  /** Headers in addition to the cookie and the token of the session; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** Signs in with a static token; returns the session cookie. */
export async function signInWithToken({ url }: Pick<SignInGateway, 'url'>, token: string): Promise<string> {
  const answer = await fetch(`${url}/auth/local`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ token, return: '/console/' })
  })
  assert.equal(answer.status, 303, await answer.text())
  const line = answer.headers.getSetCookie().find((each) => /^(?:__Host-)?towpath=/.test(each))!
  return line.slice(0, line.indexOf(';'))
}

/** Starts a gateway with the console, a server `k8s`, a user `a-user` who may use it, and an auditor. */
export async function startConsole(t: TestContext, options: SignInGatewayOptions = {}): Promise<Console> {
  const { env = {} } = options
  const gateway = await startSignInGateway(t, {
    ...options,
    env: (issuer) => ({ TOWPATH_CONSOLE: 'on', ...(typeof env === 'function' ? env(issuer) : env) })
  })
  const recorder = await startRecorder(t, { name: 'k8s', modern: true })
  const made = await gateway.api('POST', '/servers', { name: 'k8s', transport: 'streamable_http', url: recorder.url })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const policy = await gateway.api('POST', '/policies', {
    name: 'people-use-k8s',
    effect: 'allow',
    subjects: { users: ['a-user'] },
    targets: { servers: ['k8s'] }
  })
  assert.equal(policy.status, 201, JSON.stringify(policy.body))
  const cookies = new Map<ViewerRole, string>([['admin', await signInWithToken(gateway, ADMIN)]])
  for (const role of ['user', 'auditor'] as const) {
    const user = await gateway.api('POST', '/users', { name: `a${role === 'auditor' ? 'n' : ''}-${role}`, role })
    assert.equal(user.status, 201, JSON.stringify(user.body))
    cookies.set(role, await signInWithToken(gateway, user.body.access_token))
  }
  const tokens = new Map<ViewerRole, string>()
  const cookieOf = (role: ViewerRole) => cookies.get(role) ?? ''
  const csrfOf = async (role: ViewerRole): Promise<string> => {
    const known = tokens.get(role)
    if (known !== undefined || role === 'nobody') return known ?? ''
    const answer = await fetch(`${gateway.url}/api/console/session`, { headers: { cookie: cookieOf(role) } })
    const { csrf_token } = (await answer.json()) as { csrf_token: string }
    tokens.set(role, csrf_token)
    return csrf_token
  }
  return {
    gateway,
    recorder,
    cookieOf,
    async send(role, method, path, { body, headers = {} } = {}) {
      const all = {
        cookie: cookieOf(role),
        'x-towpath-csrf': await csrfOf(role),
        ...(body && { 'content-type': 'application/json' }),
        ...headers
      }
      const given = Object.entries(all).filter((entry): entry is [string, string] => Boolean(entry[1]))
      return fetch(`${gateway.url}${path}`, {
        method,
        redirect: 'manual',
        headers: Object.fromEntries(given),
        ...(body && { body: JSON.stringify(body) })
      })
    }
  }
}

/** Returns the routes below a prefix, as Fastify prints them. */
export function routesBelow(app: FastifyInstance, prefix: string): string[] {
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  const path: string[] = []
  return lines.flatMap((line) => {
    const match = /^((?:│ {3}| {4})*)(?:├── |└── )(\S*)(?: \(([\w, ]+)\))?/.exec(line)
    if (!match) return []
    const depth = match[1]!.length / 4
    path.length = depth
    path.push(match[2]!)
    const url = path.join('')
    const methods = (match[3] ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD')
    return url.startsWith(prefix) ? methods.map((method) => `${method} ${url.slice(prefix.length)}`) : []
  })
}
