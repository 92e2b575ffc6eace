import { signal } from '@preact/signals'
import type { ConsoleSession } from '../../src/schemas/dashboard/session.ts'

/** Who looks at the pages. In development mode everybody may do everything. */
export type Viewer = Pick<
  ConsoleSession,
  'name' | 'may' | 'administrators' | 'teams' | 'sign_in' | 'stdio' | 'approves_clients'
> & {
  readonly role: ConsoleSession['role'] | 'development'
  readonly method?: ConsoleSession['method']
  readonly publicUrl?: string
}

export const developer: Viewer = {
  name: '',
  role: 'development',
  teams: [],
  may: { call: true, audit: true, administer: true },
  sign_in: { password: false, static_token: false },
  stdio: true,
  approves_clients: false,
  administrators: []
}

/** Returns the viewer of the console's session. */
export const viewerOf = ({ method, public_url, ...session }: ConsoleSession): Viewer => {
  const { name, role, teams, may, sign_in, stdio, approves_clients, administrators } = session
  return {
    ...{ name, role, teams, may, sign_in, stdio, approves_clients, administrators, publicUrl: public_url },
    ...(method === undefined ? {} : { method })
  }
}

/** Value of the header `X-Towpath-CSRF`; '' in development mode. */
export const csrfToken = signal('')
/** True once the gateway has answered 401: the page asks to sign in again, and keeps what was typed. */
export const hasEnded = signal(false)
