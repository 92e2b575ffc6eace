import { deserialize, serialize } from 'node:v8'
import type { Config } from '../config/config.ts'
import type { WorkerPlace } from '../http/siblings.ts'

/** Format of lines for people (`out`) and for log collectors (`log`). */
export interface Formats {
  readonly out: 'text' | 'json'
  readonly log: 'text' | 'json'
}

/** Start of a worker, with its configuration. It reads no settings itself: files with secrets may be readable only once. */
export interface WorkerStart {
  readonly kind: 'start'
  /** The configuration, see `packConfig`. */
  readonly config: string
  readonly place: WorkerPlace
  readonly formats: Formats
}

export type ToWorker = WorkerStart | { readonly kind: 'stop' }

export type FromWorker =
  | { readonly kind: 'hello' }
  | {
      readonly kind: 'listening'
      readonly url: string
      readonly warnings: readonly string[]
    }
  /** The worker cannot start; `message` is for the operator. */
  | { readonly kind: 'refused'; readonly message: string; readonly exitCode: number }

/** Packs a configuration as text, with bytes and missing members as they are. */
export const packConfig = (config: Config): string => {
  const { stdio } = config
  // the environment is not a plain object
  const plain = { ...config, stdio: { ...stdio, environment: { ...stdio.environment } } }
  return serialize(plain).toString('base64')
}

export const unpackConfig = (packed: string): Config => deserialize(Buffer.from(packed, 'base64')) as Config
