import { Worker } from 'node:worker_threads'
import type { StaticDocument } from '../../http/documents.ts'
import type { Description } from './description.ts'
import type { DocumentOptions } from './document.ts'

const program = new URL(
  import.meta.url.endsWith('.ts') ? './description-thread.mjs' : './description-thread.js',
  import.meta.url
)

/** Bytes from another thread are no Buffer any more. */
const toBuffer = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length)
const toDocument = ({ body, encodings: { br, gzip }, ...rest }: StaticDocument): StaticDocument => ({
  ...rest,
  body: toBuffer(body),
  encodings: { ...(br && { br: toBuffer(br) }), ...(gzip && { gzip: toBuffer(gzip) }) }
})

/** A description in the making. */
export interface Describing {
  readonly description: Promise<Description>
  /** Ends the thread. `description` rejects unless it is made already. */
  stop(): Promise<unknown>
}

/**
 * Runs `describeRoutes` in a thread of its own: half a second of work that cannot be interrupted, during which the event
 * loop of the gateway would serve nobody. Its code leaves the memory with the thread.
 */
export function describeInThread({ version, schemas, routes, mode, publicUrl }: DocumentOptions): Describing {
  const described = routes.map(({ method, url, schema, config }) => ({
    method,
    url,
    schema,
    config: { access: config?.access, alwaysServed: config?.alwaysServed }
  }))
  const workerData = JSON.stringify({ version, schemas, routes: described, mode, publicUrl })
  const thread = new Worker(program, { workerData, execArgv: [], env: {} })
  const description = new Promise<Description>((resolve, reject) => {
    thread.once('message', (documents: Description) => {
      resolve(new Map([...documents].map(([path, document]) => [path, toDocument(document)])))
    })
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread that describes the API has ended')))
  })
  return { description, stop: () => thread.terminate() }
}
