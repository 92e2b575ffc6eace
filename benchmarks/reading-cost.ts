import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readJoined } from '../src/json/buffer-list.ts'
import { scanBuffers } from '../src/json/scan.ts'
import { complete } from '../src/lib/time-slice.ts'
import { checkSteps, quickResultSteps } from '../src/upstream/transport/message.ts'
import { createScreen } from '../src/upstream/transport/result-secrets.ts'
import { interleaved, percentile } from './statistics.ts'

const ID = '10000000'
const CHUNK = 65_536
const ROUNDS = 25
const ROUND_MS = 10
const WARM_UP_MS = 400

function cpuUs(work: () => void): number {
  const begun = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(begun)
  return user + system
}

/**
 * Returns the CPU time of one run of each function in microseconds. The functions alternate, and the result is the
 * first quartile of the rounds, since other processes on the machine only add time.
 */
function costs(works: readonly (() => void)[]): number[] {
  const many = (work: () => void, times: number) => () => {
    for (let i = 0; i < times; i++) work()
  }
  const times = works.map((work) => {
    let done = 0
    // enough for the code to be compiled
    const until = performance.now() + WARM_UP_MS
    const spent = cpuUs(() => {
      for (; done < 200 || performance.now() < until; done++) work()
    })
    return Math.max(3, Math.round((done * ROUND_MS * 1_000) / Math.max(spent, 1)))
  })
  const rounds = works.map(() => [] as number[])
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of interleaved([...works.keys()], round)) {
      rounds[index]!.push(cpuUs(many(works[index]!, times[index]!)) / times[index]!)
    }
  }
  return rounds.map((all) => percentile(all, 25))
}

/** Parses a response that arrived in these chunks, up to the start and end of its result. */
export type Reader = (chunks: Buffer[]) => unknown

const readOwn: Reader = (chunks) => {
  return complete(
    readJoined(chunks, function* (bytes) {
      return yield* quickResultSteps(bytes, ID, yield* checkSteps(bytes), chunks)
    })
  )
}

interface OldPieces {
  readonly createGather: () => (chunks: Buffer[]) => Buffer
}

interface OldMessages {
  readonly checkUtf8: (bytes: Buffer) => void
  readonly quickResult: (bytes: Buffer, id: string, limits: undefined, chunks: Buffer[]) => unknown
}

/** Imports the parser of an older checkout, from before the string checks; undefined if the checkout is newer. */
export async function oldReader(checkout: string): Promise<Reader | undefined> {
  if (!existsSync(join(checkout, 'src/gateway/pieces.ts'))) return undefined
  const source = async (path: string) =>
    (await import(pathToFileURL(join(checkout, 'src/gateway', path)).href)) as unknown
  const { createGather } = (await source('pieces.ts')) as Partial<OldPieces>
  const old = (await source('upstream/http-message.ts')) as OldMessages
  if (!createGather || !('checkUtf8' in old)) return undefined
  const gatherOld = createGather()
  return (chunks) => {
    const bytes = gatherOld(chunks)
    old.checkUtf8(bytes)
    return old.quickResult(bytes, ID, undefined, chunks)
  }
}

/** Costs in microseconds of CPU. */
export interface ReadingCosts {
  /** Cost of parsing in the other checkout; NaN if unknown. */
  readonly before: number
  readonly now: number
  /** Share of `now` that is spent on string checks. */
  readonly checks: number
  /** Cost of searching the message for each number of secrets, none of which occurs in it. */
  readonly searches: readonly number[]
}

/** Measures parsing a response alone, without sockets or a gateway. */
export function readingCosts(
  result: string,
  old: Reader | undefined,
  secrets: readonly (readonly string[])[]
): ReadingCosts {
  const whole = Buffer.from(`{"jsonrpc":"2.0","id":${ID},"result":${result}}`)
  const chunks = Array.from({ length: Math.ceil(whole.length / CHUNK) }, (_, i) =>
    // a separate buffer each, as sockets deliver them
    Buffer.from(whole.subarray(i * CHUNK, (i + 1) * CHUNK))
  )
  const bytes = scanBuffers[0].open().subarray(0, whole.length)
  whole.copy(bytes)
  const screens = secrets.map((all) => createScreen({ mode: 'redact', secrets: () => all, onFound() {} }))
  const [now, checked, utf8, before, ...searches] = costs([
    () => void readOwn(chunks),
    () => void complete(checkSteps(bytes)),
    () => void isUtf8(bytes),
    () => void old?.(chunks),
    ...screens.map((screen) => () => void screen(bytes))
  ]) as [number, number, number, number, ...number[]]
  return { before: old ? before : Number.NaN, now, checks: Math.max(0, checked - utf8), searches }
}
