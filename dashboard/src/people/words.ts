/** Names of roles for people. */
export const roleNames = { admin: 'Administrator', auditor: 'Auditor', user: 'User' } as const

/** Ways to sign in with a browser. */
export const methodNames = {
  oidc: 'Identity provider',
  local: 'Password',
  break_glass: 'Static access token'
} as const

/** Where a person comes from. */
export const sourceNames = {
  jit: 'Identity provider',
  scim: 'SCIM',
  local: 'Local account',
  static: 'Static token'
} as const
