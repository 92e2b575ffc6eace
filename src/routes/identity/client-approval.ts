import type { AuthConfig } from '../../config/config.ts'
import { commandLine } from '../../authorization-server/command-line.ts'
import { notApproved, type RegisteredClients } from '../../control/people/registered-clients.ts'
import { shownName, type ShownClient } from './consent-page.ts'

/** Rejects with a 403 AppError if an administrator has to approve the client before people let it in. */
export type ApprovalCheck = (client: ShownClient) => Promise<void>

/** Clients that are known by the URL of their metadata are vouched for by its host, and never have to be approved. */
export function createApprovalCheck(
  { dcr }: Pick<AuthConfig, 'dcr'>,
  clients: () => Pick<RegisteredClients, 'isApproved'>
): ApprovalCheck {
  return async ({ clientId, clientName }) => {
    if (dcr !== 'approve' || clientId === commandLine.id || clientId.startsWith('https://')) return
    if (!(await clients().isApproved(clientId))) throw notApproved(`“${shownName(clientName)}”`, clientId)
  }
}
