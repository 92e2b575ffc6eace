import { AppError } from '../lib/errors.ts'
import type { IdentifiedPerson } from '../registry/repositories/identities.ts'
import type { Change } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'

/** Takes from a person who is not admitted any more what earlier sign-ins gave. Rejects with a 503 AppError. */
export async function refusePerson(
  { write }: Pick<Registry, 'write'>,
  person: Pick<IdentifiedPerson, 'issuer' | 'subject' | 'name' | 'claimedAt'>,
  origin: Pick<Change, 'address' | 'requestId'>
): Promise<void> {
  const actor = { kind: 'system', name: 'sign-in' } as const
  const change = { actor, action: 'session.end_all', target: person.name, ...origin }
  try {
    await write(change, (tx) => tx.identities.refuse(person))
  } catch (error) {
    if (!(error instanceof AppError) || error.statusCode !== 409) throw error
    // somebody has to be able to administer the gateway
    await write(change, (tx) => tx.identities.endSignInsOf(person))
  }
}
