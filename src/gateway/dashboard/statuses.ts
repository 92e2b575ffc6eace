import type { ServerStatus } from '../../schemas/dashboard/shared.ts'
import type { ServerBlock } from '../catalog.ts'
import type { Contact, Contacts } from '../contacts.ts'
import type { ConfigSummary } from '../../schemas/dashboard/servers.ts'

const isAuthorization = (key: string) => key.toLowerCase() === 'authorization'

/** Whether somebody can sign in there: a credential that is configured has to be replaced instead. */
const canSignIn = ({ kind, has_bearer_token, header_keys = [] }: ConfigSummary) =>
  kind === 'http' && !has_bearer_token && !header_keys.some(isAuthorization)

const ofContact = ({ isGood, reason }: Contact, summary: ConfigSummary): ServerStatus => {
  if (isGood) return 'connected'
  return reason === 'auth' && canSignIn(summary) ? 'sign_in_needed' : 'failing'
}

/** From real contacts, never from the configuration but that it is disabled (design of the dashboard, 3.3). */
export function statusOf({ name, enabled }: ServerBlock, contacts: Contacts, summary: ConfigSummary): ServerStatus {
  if (!enabled) return 'disabled'
  if (contacts.isConnecting(name)) return 'connecting'
  const contact = contacts.of(name)
  return contact ? ofContact(contact, summary) : 'unknown'
}
