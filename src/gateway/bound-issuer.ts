import type { StoredServer } from '../registry/model.ts'

/** The authorization server that a server has been signed in at, or that is pinned; null where there is neither. */
export const boundIssuer = ({ issuer, settings }: Pick<StoredServer, 'issuer' | 'settings'>): string | null =>
  issuer ?? settings.oauth_issuer ?? null
