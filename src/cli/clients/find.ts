import {
  CLIENT_PLACES,
  CLIENT_TITLES,
  FILE_CLIENTS,
  type ConfigPlace,
  type FileClient
} from '../../domain/clients/clients.ts'
import { readEntries, type ClientEntry } from '../../domain/clients/read-entries.ts'
import { importEntry, markDuplicateNames, type ImportedServer } from '../../domain/import/formats.ts'
import type { Cli } from '../io/cli.ts'
import { Failure, notFound } from '../io/failure.ts'
import type { CliIo } from '../io/io.ts'
import { readClientFile, type ClientFile } from './client-file.ts'
import { parseConfig } from './edit.ts'
import { placePath } from './paths.ts'

/** A server in a client's file. */
export interface FoundServer extends ClientEntry {
  readonly client: FileClient
  readonly place: ConfigPlace
  readonly file: string
  readonly imported: ImportedServer
}

/** A place of a client whose file exists. */
export interface FoundPlace {
  readonly client: FileClient
  readonly place: ConfigPlace
  readonly file: ClientFile
  readonly document: object
  readonly servers: readonly FoundServer[]
}

/** A file that cannot be read, with the reason. */
export interface UnreadableFile {
  readonly client: FileClient
  readonly path: string
  readonly problem: string
}

export interface FoundClients {
  readonly places: readonly FoundPlace[]
  readonly unreadable: readonly UnreadableFile[]
}

function foundServer(
  client: FileClient,
  place: ConfigPlace,
  file: string,
  entry: ClientEntry,
  ownUrls: readonly string[]
): FoundServer {
  const imported = importEntry({ name: entry.name, value: entry.value, inputs: entry.inputs }, ownUrls)
  const problems = entry.problem === undefined ? imported.problems : [entry.problem]
  return { ...entry, client, place, file, imported: { ...imported, problems } }
}

async function findPlace(
  io: CliIo,
  client: FileClient,
  place: ConfigPlace,
  ownUrls: readonly string[]
): Promise<FoundPlace | undefined> {
  const file = await readClientFile(placePath(io, place))
  if (!file) return undefined
  const document = await parseConfig(file.text, place.language, file.path)
  const servers = readEntries(client, place, document).map((entry) =>
    foundServer(client, place, file.path, entry, ownUrls)
  )
  return { client, place, file, document, servers }
}

/**
 * Reads the files of clients. In the home directory, a path of the project can be one of the user: it counts once.
 * `ownUrls` are the addresses of the gateway.
 */
export async function findClients(
  io: CliIo,
  ownUrls: readonly string[],
  clients: readonly FileClient[] = FILE_CLIENTS
): Promise<FoundClients> {
  const places: FoundPlace[] = []
  const unreadable: UnreadableFile[] = []
  for (const client of clients) {
    const seen = new Set<string>()
    for (const place of CLIENT_PLACES[client].toSorted((a, b) => rank(a) - rank(b))) {
      const path = placePath(io, place)
      const key = JSON.stringify([path, place.servers])
      if (seen.has(key)) continue
      seen.add(key)
      try {
        const found = await findPlace(io, client, place, ownUrls)
        if (found) places.push(found)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        const problem = error.message.replace(`${path}: `, '')
        if (!unreadable.some((each) => each.path === path)) unreadable.push({ client, path, problem })
      }
    }
  }
  return { places, unreadable }
}

const scopes = ['user', 'local', 'project'] as const
const rank = ({ scope }: ConfigPlace) => scopes.indexOf(scope)

/** Returns all servers in the files of one client. Fails if it has none, or if a file cannot be read. */
export async function serversOfClient(cli: Cli, client: FileClient): Promise<readonly ImportedServer[]> {
  const { places, unreadable } = await findClients(cli.io, [cli.api.registry], [client])
  for (const { path, problem } of unreadable) cli.warn(`${path}: ${problem}`)
  const servers = places.flatMap((each) => each.servers.filter(({ isEnabled }) => isEnabled))
  if (servers.length === 0) throw notFound(`${CLIENT_TITLES[client]} has no servers in its files`)
  return markDuplicateNames(servers.map(({ imported }) => imported))
}
