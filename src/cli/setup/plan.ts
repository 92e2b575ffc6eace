import { CLIENT_PLACES, type ConfigPlace, type FileClient } from '../../domain/clients/clients.ts'
import { gatewayMembers, type MemberChange, type Target } from '../../domain/clients/snippets.ts'
import { OWN_ENTRY } from '../../domain/import/formats.ts'
import type { ClientFile } from '../clients/client-file.ts'
import { checkWritable, readClientFile } from '../clients/client-file.ts'
import { editConfig } from '../clients/edit.ts'
import type { FoundClients, FoundPlace, FoundServer } from '../clients/find.ts'
import { placePath } from '../clients/paths.ts'
import { Failure } from '../io/failure.ts'
import type { CliIo } from '../io/io.ts'

/** Changed text of a client's file. */
export interface PlannedFile {
  readonly client: FileClient
  readonly path: string
  readonly language: ConfigPlace['language']
  /** Undefined if the file is created. */
  readonly before: ClientFile | undefined
  readonly text: string
  /** Names of the entries that the gateway replaces. */
  readonly removed: readonly string[]
  readonly changes: readonly MemberChange[]
  /** True if the text contains a token. */
  readonly hasToken?: boolean
}

/** Place that an entry for the gateway goes to. */
interface EntryPlace {
  readonly client: FileClient
  readonly place: ConfigPlace
  readonly path: string
}

/** Returns the place of a client for the servers of the user: one whose file exists, if any does. */
function userPlace(io: CliIo, client: FileClient, found: readonly FoundPlace[]): ConfigPlace {
  const own = CLIENT_PLACES[client].filter(({ scope, isOld }) => scope === 'user' && !isOld)
  return own.find((place) => found.some(({ file }) => file.path === placePath(io, place))) ?? own[0]!
}

/** Returns the places of a client that get an entry: those that lose servers, else the one of the user. */
function entryPlaces(io: CliIo, client: FileClient, found: FoundClients, moved: readonly FoundServer[]): EntryPlace[] {
  const places = found.places.filter((each) => each.client === client)
  const losing = places.filter((each) => each.servers.some((server) => moved.includes(server)))
  const kept = losing.filter(({ place }) => place.scope !== 'local' && !place.isOld).map(({ place }) => place)
  const needsUser = kept.length === 0 || losing.some(({ place }) => place.scope === 'local' || place.isOld)
  const all = new Set(needsUser ? [...kept, userPlace(io, client, places)] : kept)
  const isPointed = (place: ConfigPlace) =>
    places.some(
      (each) => each.place === place && each.servers.some(({ imported }) => imported.problems.includes(OWN_ENTRY))
    )
  return [...all].filter((place) => !isPointed(place)).map((place) => ({ client, place, path: placePath(io, place) }))
}

/** Returns the changes to each file: entries that the gateway replaces are removed, and one for the gateway is set. */
export function planChanges(
  io: CliIo,
  found: FoundClients,
  clients: readonly FileClient[],
  moved: readonly FoundServer[],
  target: Target
): Omit<PlannedFile, 'before' | 'text'>[] {
  return clients.flatMap((client) => {
    const removed = moved.filter((server) => server.client === client)
    const entries = entryPlaces(io, client, found, moved)
    const paths = [...new Set([...entries.map(({ path }) => path), ...removed.map(({ file }) => file)])]
    return paths.map((path) => {
      const here = removed.filter(({ file }) => file === path)
      const set = entries.filter((entry) => entry.path === path)
      const removals = here.map((server) => ({ path: server.path, value: undefined }))
      return {
        client,
        path,
        language: (set[0]?.place ?? here[0]!.place).language,
        removed: here.map(({ name }) => name),
        changes: [...removals, ...set.flatMap(({ place }) => gatewayMembers(client, place, target))]
      }
    })
  })
}

/** Result of planning: files to write, and files that cannot be changed, with the reason. */
export interface PlannedFiles {
  readonly files: readonly PlannedFile[]
  readonly refused: readonly { readonly client: FileClient; readonly path: string; readonly problem: string }[]
}

/** Computes the new text of each file that differs. */
export async function planFiles(changes: readonly Omit<PlannedFile, 'before' | 'text'>[]): Promise<PlannedFiles> {
  const files: PlannedFile[] = []
  const refused: PlannedFiles['refused'][number][] = []
  for (const change of changes) {
    const { client, path, language } = change
    try {
      const before = await readClientFile(path)
      const text = await editConfig(before?.text ?? '', language, change.changes, path)
      if (text === before?.text) continue
      if (before) checkWritable(before)
      files.push({ ...change, before, text })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      refused.push({ client, path, problem: error.message.replace(`${path}: `, '') })
    }
  }
  return { files, refused }
}
