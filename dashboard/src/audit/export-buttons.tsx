import { useSignal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { AuditFilter } from '../../../src/schemas/audit.ts'
import { send } from '../api.ts'
import { count, sentence } from '../format.ts'
import * as sources from '../sources.ts'
import type { AuditEntries, AuditLine } from './audit-line.ts'
import { toCsv, toJsonLines } from './export.ts'

/** Entries of one request, the most that the REST interface gives. */
const PAGE = 500
/** Most entries of a file: more would fill the memory of a browser. */
const MAX_ENTRIES = 50_000

/** Reads all entries that match, newest first. */
async function readAll(filter: Static<typeof AuditFilter>): Promise<{ entries: AuditLine[]; isWhole: boolean }> {
  const entries: AuditLine[] = []
  let before: string | undefined
  do {
    const { path } = sources.audit({ ...filter, limit: PAGE, ...(before && { before }) })
    const { body } = await send<AuditEntries>('GET', path)
    entries.push(...body.entries)
    before = body.next_before
  } while (before !== undefined && entries.length < MAX_ENTRIES)
  return { entries, isWhole: before === undefined }
}

function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

const formats = {
  'JSON lines': { name: 'audit.jsonl', type: 'application/x-ndjson', print: toJsonLines },
  CSV: { name: 'audit.csv', type: 'text/csv', print: toCsv }
} as const

/** Buttons that save the filtered entries as a file. */
export function ExportButtons({ filter }: { filter: Static<typeof AuditFilter> }) {
  const busy = useSignal(false)
  const said = useSignal<{ readonly ok: boolean; readonly text: string } | undefined>(undefined)
  const run = async (format: keyof typeof formats) => {
    busy.value = true
    said.value = undefined
    try {
      const { entries, isWhole } = await readAll(filter)
      const { name, type, print } = formats[format]
      save(name, type, print(entries))
      const text = `${count(entries.length)} saved${isWhole ? '' : ', the newest; choose a shorter time for the others'}.`
      said.value = { ok: true, text }
    } catch (error) {
      said.value = { ok: false, text: sentence((error as Error).message) }
    }
    busy.value = false
  }
  return (
    <>
      {said.value && (
        <span class={said.value.ok ? 'muted' : 'err'} role={said.value.ok ? 'status' : 'alert'}>
          {said.value.text}
        </span>
      )}
      {(Object.keys(formats) as (keyof typeof formats)[]).map((format) => (
        <button key={format} type="button" class="btn" disabled={busy.value} onClick={() => void run(format)}>
          Export {format}
        </button>
      ))}
    </>
  )
}
