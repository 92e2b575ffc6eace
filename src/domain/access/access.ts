/** Roles of users, from most to least rights. */
export const roles = ['admin', 'auditor', 'user'] as const
export type Role = (typeof roles)[number]

/** Scopes that a personal access token may be limited to. */
export const tokenScopes = ['mcp', 'towpath:read', 'towpath:call', 'towpath:admin'] as const
type RightScope = (typeof tokenScopes)[number]

/** Scope that a policy can require; `mcp:` and a name. No such scope includes another. */
export type PolicyScope = `mcp:${string}`
export type TokenScope = RightScope | PolicyScope

const POLICY_SCOPE = 'mcp:[a-z0-9][a-z0-9._-]{0,59}'
/** Pattern of the scopes that a token can have; they are at most 64 characters long. */
export const SCOPE_PATTERN = `^(${tokenScopes.join('|')}|${POLICY_SCOPE})$`
export const SCOPE_RULE = `must be one of ${tokenScopes.join(', ')}, or "mcp:" and a name of a-z, 0-9, ".", "_" and "-"`
const policyScope = new RegExp(`^${POLICY_SCOPE}$`)

export const isPolicyScope = (text: string): text is PolicyScope => policyScope.test(text)

/** Returns true for a scope that a token can have. */
export const isTokenScope = (text: string): text is TokenScope =>
  (tokenScopes as readonly string[]).includes(text) || isPolicyScope(text)

/**
 * Callers that may use a route (http-contract.md#roles). `self`: every user, about the own account. `user`: every user, to
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

const scopeOf: Readonly<Partial<Record<Access, RightScope>>> = {
  user: 'towpath:read',
  call: 'towpath:call',
  auditor: 'towpath:read',
  admin: 'towpath:admin',
  client: 'mcp'
}

/** Each scope with the scopes that include it. */
const includedIn: Readonly<Record<RightScope, readonly RightScope[]>> = {
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

/** Returns the scopes that tokens of a role can have, besides those of policies. */
export const scopesFor = (role: Role): readonly TokenScope[] => scopesByRole[role]

/** Returns true if a token of the role can have the scope: an auditor calls nothing that a policy could open. */
export const canHaveScope = (role: Role, scope: TokenScope): boolean =>
  scopesByRole[role].includes(scope) || (isPolicyScope(scope) && role !== 'auditor')

/** Returns true if a token with the scopes has the rights of another scope. */
export const includesScope = (scopes: readonly TokenScope[], scope: TokenScope): boolean =>
  isPolicyScope(scope) ? scopes.includes(scope) : includedIn[scope].some((each) => scopes.includes(each))

const hasScope = ({ scopes }: Holder, scope: RightScope): boolean =>
  scopes === undefined ? scope !== 'mcp' : includesScope(scopes, scope)

/** Why a route refuses a caller: its role, or the scope that its token lacks. */
export type AccessProblem = { readonly kind: 'role' } | { readonly kind: 'scope'; readonly scope: RightScope }

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
