/** Roles of users, from most to least rights. */
export const roles = ['admin', 'auditor', 'user'] as const
export type Role = (typeof roles)[number]

/** Scopes that a personal access token may be limited to. */
export const tokenScopes = ['mcp', 'towpath:read', 'towpath:call', 'towpath:admin'] as const
export type TokenScope = (typeof tokenScopes)[number]

/**
 * Who may call a route (http-contract.md#roles). `self`: every user, about the own account. `user`: every user, to
 * read. `call`: users and administrators, to use servers. `auditor`: auditors and administrators. `client`: MCP clients,
 * and users with a token of scope `mcp`.
 */
export type Access = 'public' | 'self' | 'user' | 'call' | 'auditor' | 'admin' | 'client'

/** Role and token of a caller, as far as rights depend on them. */
export interface Holder {
  readonly kind: Role | 'client' | 'development'
  /** Undefined: the token has all rights of its role over REST, and none at MCP endpoints. */
  readonly scopes?: readonly TokenScope[] | undefined
}

const rolesOf: Readonly<Record<Exclude<Access, 'public' | 'client'>, readonly Holder['kind'][]>> = {
  self: roles,
  user: roles,
  call: ['admin', 'user'],
  auditor: ['admin', 'auditor'],
  admin: ['admin']
}

const scopeOf: Readonly<Partial<Record<Access, TokenScope>>> = {
  user: 'towpath:read',
  call: 'towpath:call',
  auditor: 'towpath:read',
  admin: 'towpath:admin',
  client: 'mcp'
}

/** Each scope with the scopes that include it. */
const includedIn: Readonly<Record<TokenScope, readonly TokenScope[]>> = {
  mcp: ['mcp'],
  'towpath:read': ['towpath:read', 'towpath:call', 'towpath:admin'],
  'towpath:call': ['towpath:call', 'towpath:admin'],
  'towpath:admin': ['towpath:admin']
}

const scopesByRole: Readonly<Record<Role, readonly TokenScope[]>> = {
  admin: tokenScopes,
  auditor: ['towpath:read'],
  user: ['mcp', 'towpath:read', 'towpath:call']
}

/** Returns the scopes that tokens of a role can have. */
export const scopesFor = (role: Role): readonly TokenScope[] => scopesByRole[role]

const hasScope = ({ scopes }: Holder, scope: TokenScope): boolean =>
  scopes === undefined ? scope !== 'mcp' : includedIn[scope].some((each) => scopes.includes(each))

/** Why a route refuses a caller: its role, or the scope that its token lacks. */
export type AccessProblem = { readonly kind: 'role' } | { readonly kind: 'scope'; readonly scope: TokenScope }

const roleProblem: AccessProblem = { kind: 'role' }

/** Returns why the caller may not call routes with this access; undefined if it may. */
export function accessProblem(holder: Holder, access: Access): AccessProblem | undefined {
  const { kind, scopes } = holder
  if (access === 'public' || kind === 'development') return undefined
  if (access === 'client') {
    if (kind === 'client') return undefined
    // a token without scopes is for REST only, whatever the role
    if (scopes === undefined || !scopesByRole[kind].includes('mcp')) return roleProblem
  } else if (!rolesOf[access].includes(kind)) return roleProblem
  const scope = scopeOf[access]
  return scope === undefined || hasScope(holder, scope) ? undefined : { kind: 'scope', scope }
}

/** Tests if the caller may change everything and read secrets. */
export const isAdministrator = (holder: Holder): boolean => accessProblem(holder, 'admin') === undefined

/** Tests if the caller may read everything but secrets and the contents of calls. */
export const isAuditor = (holder: Holder): boolean => accessProblem(holder, 'auditor') === undefined
