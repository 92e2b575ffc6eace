import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cli } from '../io/cli.ts'
import { isObject } from '../../domain/is-object.ts'

type Block = Readonly<Record<string, unknown>>

/** Removes control characters from upstream text on a terminal; piped output stays unchanged. */
export function stripControls(cli: Cli, text: string): string {
  if (!cli.io.stdout.isTTY) return text
  // oxlint-disable-next-line no-control-regex -- they are what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}

const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'application/pdf': 'pdf',
  'application/json': 'json'
}

/** Decodes the bytes of a block with their media type; undefined for text. */
function bytesOf(block: Block): { data: Buffer; type: string } | undefined {
  const inner = isObject(block.resource) ? block.resource : block
  const base64 = inner.blob ?? block.data
  if (typeof base64 !== 'string') return undefined
  const type = inner.mimeType ?? block.mimeType
  return { data: Buffer.from(base64, 'base64'), type: typeof type === 'string' ? type : 'application/octet-stream' }
}

/** Saves bytes under their hash, so that no upstream text becomes a path. */
async function save(folder: string, { data, type }: { data: Buffer; type: string }): Promise<string> {
  await mkdir(folder, { recursive: true })
  const name = createHash('sha256').update(data).digest('hex').slice(0, 16)
  const path = join(folder, `${name}.${extensions[type] ?? 'bin'}`)
  await writeFile(path, data)
  return path
}

function textOf(block: Block): string | undefined {
  const inner = isObject(block.resource) ? block.resource : block
  return typeof inner.text === 'string' ? inner.text : undefined
}

/**
 * Formats content blocks or resource contents as text. Binary parts are saved to `folder` and shown as paths; without a
 * folder only a note is printed.
 */
export async function formatContents(
  cli: Cli,
  blocks: readonly unknown[],
  folder: string | undefined
): Promise<string> {
  const parts: string[] = []
  for (const block of blocks.filter(isObject)) {
    const bytes = bytesOf(block)
    if (!bytes) {
      parts.push(stripControls(cli, textOf(block) ?? JSON.stringify(block)))
    } else if (folder === undefined) {
      cli.note(`${bytes.type}, ${bytes.data.length} bytes: use --save FOLDER to save it`)
    } else {
      parts.push(await save(folder, bytes))
    }
  }
  return parts.join('\n')
}
