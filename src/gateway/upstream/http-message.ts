import { isUtf8 } from 'node:buffer'
import { membersOfBytes, skipSpaceBytes } from '../json-bytes.ts'
import { checkText, HAS_LONE_SURROGATES, HAS_CONTROL_SPACE } from '../json-text.ts'
import {
  checkUnique,
  type JsonLimits,
  JsonError,
  MAX_DEPTH,
  type Member,
  members,
  skipSpace,
  valueOf,
  wholeMembers
} from '../json.ts'
import { LARGE, Payload } from '../payload.ts'
import { cutPieces, type Pieces } from '../pieces.ts'
import { withoutLoneSurrogates } from '../surrogates.ts'
import { errorAnswer, type Answer } from './call.ts'
import { UpstreamFailure } from './failure.ts'

/** A JSON-RPC message, read as far as its kind. `id` and `params` are JSON text; no params are `{}`. */
export type Message =
  | { readonly kind: 'answer'; readonly id: string | undefined; readonly answer: Answer }
  | { readonly kind: 'request'; readonly id: string; readonly method: string; readonly params: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: string }

const HEAD = '{"jsonrpc":"2.0","id":'
const RESULT = ',"result":{'
const RESULT_FIRST = '{"result":{'
const TAIL = ',"jsonrpc":"2.0","id":'
const MARGIN = 128
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/**
 * For what is read part by part, as the pages of a list are: the strings and the depth of the parts are checked later. The
 * depth is that of the largest definition that could be nothing but brackets.
 */
export const looseLimits: JsonLimits = { depth: 1_048_576, elements: Infinity, isLoose: true }
/** What passes is not built, but looked at piece by piece, in which time nothing else is done. */
const MAX_ELEMENTS = 1_000_000
/** The same of a request or notification, which is held and read several times. */
const MAX_ASKED_ELEMENTS = 100_000
/** Errors are read whole. */
const MAX_ERROR_BYTES = 262_144
const defaultLimits: JsonLimits = { depth: MAX_DEPTH, elements: MAX_ELEMENTS }
/** For text with line breaks and tabs, which must not stand in strings. */
const spacedLimits: JsonLimits = { ...defaultLimits, checksStrings: true }
const bad = (message: string) => new UpstreamFailure('bad_response', message)

/** How a message whose text has been checked is to be read. */
export interface Checked {
  readonly limits: JsonLimits
  /** The bytes were changed in place: pieces that they were put together from are not the message. */
  readonly isRepaired: boolean
}

/** Checked item by item, see `lists.ts`. */
export const uncheckedList: Checked = { limits: looseLimits, isRepaired: false }
const plain: Checked = { limits: defaultLimits, isRepaired: false }

/**
 * Checks the text of a message before anything is done with it: UTF-8, and strings that hold what JSON allows. An escape of
 * half a surrogate pair, at which many readers refuse the whole message, is replaced in place by that of U+FFFD. Throws
 * JsonError, or `bad_response` where the bytes are not UTF-8.
 */
export function checkMessage(bytes: Buffer): Checked {
  if (!isUtf8(bytes)) throw bad('answered with invalid UTF-8')
  const found = checkText(bytes)
  if (found === 0) return plain
  const isRepaired = (found & HAS_LONE_SURROGATES) !== 0
  if (isRepaired) bytes.write(withoutLoneSurrogates(bytes.toString('latin1')), 'latin1')
  return { limits: (found & HAS_CONTROL_SPACE) === 0 ? defaultLimits : spacedLimits, isRepaired }
}

const endsAt = (text: string, at: number) =>
  text.charCodeAt(at) === CLOSE_OBJECT && skipSpace(text, at + 1) === text.length

/** Offset of the result's brace in the two layouts that the SDKs write; -1 for any other. */
function resultStart(head: string, id: string): number {
  if (head.startsWith(RESULT_FIRST)) return RESULT_FIRST.length - 1
  const isFirst = head.startsWith(HEAD) && head.startsWith(id, HEAD.length)
  return isFirst && head.startsWith(RESULT, HEAD.length + id.length) ? HEAD.length + id.length + RESULT.length - 1 : -1
}

/** Depth is counted from the result on. */
const within = (limits: JsonLimits): JsonLimits => ({ ...limits, depth: limits.depth - 1 })

/** Offset behind the object whose members these are. */
function endOf(found: readonly Member[], start: number, skip: (at: number) => number): number {
  return skip(found.at(-1)?.end ?? start + 1) + 1
}

/**
 * The result for the request `id` where the message is laid out as the SDKs do it (id before, or id last); null for
 * everything else, which `readMessage` then reads. Both take bytes that are UTF-8, both throw JsonError. `pieces` are the same
 * bytes where they are to be kept; `bytes` are not.
 */
export function quickResult(
  bytes: Buffer,
  id: string,
  limits = defaultLimits,
  pieces: Pieces = [bytes]
): Answer | null {
  const isLarge = bytes.length > LARGE && !limits.isLoose && !limits.checksStrings
  const head = bytes.toString('latin1', 0, isLarge ? MARGIN : bytes.length)
  const start = resultStart(head, id)
  if (start < 0) return null
  const found = isLarge ? membersOfBytes(bytes, start, within(limits)) : members(head, start, within(limits))
  const end = endOf(found, start, (at) => (isLarge ? skipSpaceBytes(bytes, at) : skipSpace(head, at)))
  if (isLarge && bytes.length - end > MARGIN) return null
  // of a large body only its end is made a string
  const text = isLarge ? bytes.toString('latin1', end) : head
  let at = isLarge ? 0 : end
  if (start === RESULT_FIRST.length - 1) {
    if (!text.startsWith(TAIL, at) || !text.startsWith(id, at + TAIL.length)) return null
    at += TAIL.length + id.length
  }
  if (!endsAt(text, at)) return null
  if (!limits.isLoose) checkUnique(found)
  const known = { members: found, base: start }
  const body = isLarge
    ? Payload.ofPieces(cutPieces(pieces, start, end), known)
    : Payload.ofLatin1(head.slice(start, end), known)
  return { kind: 'result', body }
}

function isErrorObject(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== OPEN_OBJECT) return false
  const found = members(text, at)
  checkUnique(found)
  return /^-?\d{1,15}$/.test(valueOf(text, found, 'code') ?? '') && valueOf(text, found, 'message')?.[0] === '"'
}

const toResult = ['result']

/** JSON text of an id that JSON-RPC allows for a request. */
const isId = (id: string) => /^(?:"|-?\d)/.test(id)

/** A request or notification; `found` are the members of the message. */
function readAsked(bytes: Buffer, text: string, found: readonly Member[]): Message {
  const at = (key: string) => found.find((each) => each.key === key)
  const [method, idAt] = [at('method')!, at('id')]
  const id = idAt && bytes.toString('utf8', idAt.start, idAt.end)
  if (text[method.start] !== '"' || (id !== undefined && !isId(id))) throw notRpc()
  const name = JSON.parse(bytes.toString('utf8', method.start, method.end)) as string
  const params = at('params')
  if (params && text[params.start] !== '{') throw bad('sent parameters that are not an object')
  // what is shown to a person has to be what the client reads
  if (params) checkUnique(members(text, params.start, { depth: MAX_DEPTH, elements: MAX_ASKED_ELEMENTS }))
  const paramsText = params ? bytes.toString('utf8', params.start, params.end) : '{}'
  return id === undefined
    ? { kind: 'notification', method: name, params: paramsText }
    : { kind: 'request', id, method: name, params: paramsText }
}

const notRpc = () => bad('answered with something that is not JSON-RPC 2.0')

/** Reads one message whose text has been checked. Throws JsonError, or UpstreamFailure where it is no JSON-RPC 2.0. */
export function readMessage(bytes: Buffer, limits = defaultLimits, pieces: Pieces = [bytes]): Message {
  const text = bytes.toString('latin1')
  const found = wholeMembers(text, limits, toResult)
  checkUnique(found)
  const member = (key: string) => found.find((each) => each.key === key)
  if (valueOf(text, found, 'jsonrpc') !== '"2.0"') throw notRpc()
  const id = valueOf(text, found, 'id')
  const result = member('result')
  const error = member('error')
  if (member('method') && !result && !error) return readAsked(bytes, text, found)
  if (!result === !error)
    throw bad(`answered with ${result ? 'both a result and an' : 'neither a result nor an'} error`)
  const { start, end, members: own } = (result ?? error)!
  if (error && end - start > MAX_ERROR_BYTES) {
    throw new UpstreamFailure('too_large', `answered with an error of more than ${MAX_ERROR_BYTES} bytes`)
  }
  if (result ? text.charCodeAt(start) !== OPEN_OBJECT : !isErrorObject(text, start)) {
    throw bad(`answered with ${result ? 'a result' : 'an error'} of the wrong shape`)
  }
  if (own && !limits.isLoose) checkUnique(own)
  const known = own ? { members: own, base: start } : null
  const isLarge = end - start > LARGE && !limits.isLoose
  const body = isLarge
    ? Payload.ofPieces(cutPieces(pieces, start, end), known)
    : Payload.ofLatin1(text.slice(start, end), known)
  return { kind: 'answer', id, answer: { kind: result ? 'result' : 'error', body } }
}

/** To whom a message belongs that cannot be used. */
export interface Addressed {
  readonly kind: Message['kind']
  /** JSON text as it came. */
  readonly id: string | undefined
}

/** Finds out whom a malformed message concerns; undefined where not even that can be read. */
export function addressOf(bytes: Buffer): Addressed | undefined {
  const text = bytes.toString('latin1')
  try {
    const found = wholeMembers(text, looseLimits, [])
    const id = valueOf(text, found, 'id')?.trim()
    const isAsked =
      found.some(({ key }) => key === 'method') && !found.some(({ key }) => key === 'result' || key === 'error')
    if (isAsked) return { kind: id === undefined ? 'notification' : 'request', id }
    return id === undefined ? undefined : { kind: 'answer', id }
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** The id under which a malformed request can be refused: JSON text that is safe to be sent back; else undefined. */
export const refusableId = (id: string | undefined): string | undefined =>
  id !== undefined && /^(?:-?\d{1,15}|"[ !#-[\]-~]{0,200}")$/.test(id) ? id : undefined

/** The answer of the upstream to a request for a list, its items unchecked; undefined for any other message. */
export function listAnswer(bytes: Buffer): Extract<Message, { kind: 'answer' }> | undefined {
  try {
    const message = readMessage(bytes, looseLimits)
    return message.kind === 'answer' ? message : undefined
  } catch (error) {
    if (error instanceof JsonError || error instanceof UpstreamFailure) return undefined
    throw error
  }
}

/** The answer to a malformed request of an upstream. */
export const invalidRequest = errorAnswer(-32600, 'Invalid Request: malformed JSON')

/** What a JSON problem of an upstream's answer is called towards the caller. */
export function toFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  if (!(error instanceof JsonError)) return bad('answered with something that cannot be read')
  if (error.problem === 'depth') return bad(`answered with JSON nested deeper than ${MAX_DEPTH} levels`)
  if (error.problem === 'elements') return bad(`answered with ${error.message}`)
  if (error.problem === 'duplicate') return bad('answered with JSON that repeats a member')
  return bad('answered with malformed JSON')
}

/** Text of an upstream that goes into a message of ours: one line, no markup, at most 200 characters. */
export function cleanText(text: string): string {
  const plain = text
    .slice(0, 2000)
    .replace(/<[^>]*>?/g, ' ')
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()
  return plain.length > 200 ? `${plain.slice(0, 199)}…` : plain
}

/** The value of an answer's body. Throws `bad_response`: inside of strings and numbers nobody has looked before. */
export function valueOfAnswer({ body }: Answer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>
  } catch {
    throw bad('answered with malformed JSON')
  }
}

/** `code`, `data` and cleaned `message` of a JSON-RPC error object. */
export function readError(answer: Answer): { code: unknown; message: string; data: unknown } {
  const { code, message, data } = valueOfAnswer(answer)
  return { code, message: cleanText(String(message)), data }
}
