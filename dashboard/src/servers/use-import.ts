import { useSignal, type ReadonlySignal } from '@preact/signals'
import type { ImportedServer, ImportView } from '../../../src/schemas/dashboard/import.ts'
import { change, path, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { runConcurrently } from '../concurrency.ts'

/** Progress of a chosen server: `waiting` for its turn, or `connecting` since a time in milliseconds of the epoch. */
export type Progress = { readonly state: 'waiting' } | { readonly state: 'connecting'; readonly since: number }

/** Import of a pasted configuration. */
export interface Import {
  readonly text: ReadonlySignal<string>
  /** Parsed servers and their results; undefined before the configuration is checked. */
  readonly servers: ReadonlySignal<readonly ImportedServer[] | undefined>
  readonly chosen: ReadonlySignal<ReadonlySet<string>>
  readonly values: ReadonlySignal<Readonly<Record<string, string>>>
  /** Servers being added, by name. */
  readonly progress: ReadonlySignal<ReadonlyMap<string, Progress>>
  readonly isPreviewing: ReadonlySignal<boolean>
  /** Reason why the configuration as a whole is invalid; '' if it is valid. */
  readonly failure: ReadonlySignal<string>
  paste(text: string): void
  preview(): Promise<void>
  choose(name: string, isChosen: boolean): void
  setValue(name: string, value: string): void
  /** Adds the chosen servers; failed ones become the new choice. */
  add(): Promise<void>
  addOne(name: string): Promise<void>
  /** Marks a server as done after its sign-in. */
  markAdded(name: string): void
}

/** Servers added at a time: browsers limit connections per host, and the page needs some itself. */
const CONCURRENCY = 3

const postImport = (dryRun: boolean, body: object) =>
  change<ImportView>('POST', `${path('servers', 'import')}${dryRun ? '?dry_run=true' : ''}`, body)

/**
 * Returns true for the entry to add: of entries with one name only the first is valid, the others report that as a
 * problem.
 */
export const isEntryFor = ({ name, problems }: ImportedServer, wanted: string): boolean =>
  name === wanted && problems.length === 0

type Result = NonNullable<ImportedServer['result']>

export function useImport(): Import {
  const { store } = useApp()
  const text = useSignal('')
  const servers = useSignal<readonly ImportedServer[] | undefined>(undefined)
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  const values = useSignal<Readonly<Record<string, string>>>({})
  const progress = useSignal<ReadonlyMap<string, Progress>>(new Map())
  const isPreviewing = useSignal(false)
  const failure = useSignal('')

  const find = (name: string) => servers.value?.find((server) => isEntryFor(server, name))
  const put = (name: string, result: Result) => {
    servers.value = servers.value?.map((server) => (isEntryFor(server, name) ? { ...server, result } : server))
  }
  const setProgress = (name: string, to: Progress | undefined) => {
    const next = new Map(progress.value)
    if (to) next.set(name, to)
    else next.delete(name)
    progress.value = next
  }
  const choose = (name: string, isChosen: boolean) => {
    const next = new Set(chosen.value)
    if (isChosen) next.add(name)
    else next.delete(name)
    chosen.value = next
  }
  const preview = async () => {
    failure.value = ''
    isPreviewing.value = true
    const sent = text.value
    try {
      const found = (await postImport(true, { configuration: sent })).servers
      if (text.value !== sent) return
      servers.value = found
      chosen.value = new Set(
        found.filter(({ problems, exists }) => problems.length === 0 && !exists).map(({ name }) => name)
      )
    } catch (error) {
      servers.value = undefined
      failure.value = (error as ApiError).message
    } finally {
      isPreviewing.value = false
    }
  }
  const addOne = async (name: string) => {
    setProgress(name, { state: 'connecting', since: Date.now() })
    try {
      const given = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ''))
      const replace = find(name)?.exists && { replace: true }
      const body = { configuration: text.value, names: [name], values: given, ...replace }
      const { servers: done } = await postImport(false, body)
      const result = done.find((each) => each.name === name)?.result
      put(name, result ?? { outcome: 'failed', error: 'The gateway returned no result' })
    } catch (error) {
      put(name, { outcome: 'failed', error: (error as ApiError).message, ...(error as ApiError).details })
    }
    setProgress(name, undefined)
    if (find(name)?.result?.outcome === 'failed') choose(name, true)
  }
  const add = async () => {
    const names = [...new Set((servers.value ?? []).map(({ name }) => name))].filter((name) => chosen.value.has(name))
    chosen.value = new Set()
    progress.value = new Map(names.map((name) => [name, { state: 'waiting' }]))
    await runConcurrently(names, CONCURRENCY, addOne)
    void store.refresh()
  }
  return {
    ...{ text, servers, chosen, values, progress, isPreviewing, failure },
    paste(next) {
      text.value = next
      servers.value = undefined
    },
    preview,
    choose,
    setValue: (name, value) => (values.value = { ...values.value, [name]: value }),
    add,
    addOne,
    markAdded: (name) => put(name, { outcome: 'added' })
  }
}

const words: readonly (readonly [Result['outcome'], string])[] = [
  ['added', 'added'],
  ['replaced', 'replaced'],
  ['sign_in_needed', 'waiting for a sign-in'],
  ['failed', 'failed'],
  ['skipped', 'skipped']
]

/** Returns `2 added, 1 failed`; '' before any attempt. */
export function summaryOf(servers: readonly ImportedServer[]): string {
  const counted = words.map(([outcome, word]) => {
    const count = servers.filter(({ result }) => result?.outcome === outcome).length
    return count > 0 ? `${count} ${word}` : ''
  })
  return counted.filter(Boolean).join(', ')
}
