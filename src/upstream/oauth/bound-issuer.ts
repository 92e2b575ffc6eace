import type { StoredServer } from '../../registry/model/model.ts'

/** Returns the issuer of a server's stored sign-in, or else the configured issuer; null if there is neither. */
export const boundIssuer = ({ issuer, settings }: Pick<StoredServer, 'issuer' | 'settings'>): string | null =>
  issuer ?? settings.oauth_issuer ?? null
