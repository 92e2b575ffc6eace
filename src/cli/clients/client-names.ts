import { CLIENTS, FILE_CLIENTS, type ClientName, type FileClient } from '../../domain/clients/clients.ts'
import { usage } from '../io/failure.ts'
import { nearest } from '../output/suggest.ts'

function oneOf<T extends string>(names: readonly T[], given: string): T {
  const client = names.find((each) => each === given)
  if (client) return client
  const suggestion = nearest(given, names)
  throw usage(`unknown client "${given}"`, suggestion ? `did you mean "${suggestion}"?` : `one of ${names.join(', ')}`)
}

/** Returns the client of a name; fails with a suggestion. */
export const clientOf = (given: string): ClientName => oneOf(CLIENTS, given)

/** Returns the client of a name if it keeps its servers in a file; fails with a suggestion. */
export const fileClientOf = (given: string): FileClient => oneOf(FILE_CLIENTS, given)
