import { isUtf8 } from 'node:buffer'
import { complete } from '../../lib/time-slice.ts'
import { type ByteLimits, endOfMembers, membersOfBytes, memberSteps, wholeMemberSteps } from '../../json/bytes.ts'
import { OPEN_OBJECT, QUOTE, CLOSE_OBJECT } from '../../json/characters.ts'
import { textSteps, HAS_CONTROL_SPACE, HAS_LETTER_ESCAPES, HAS_LONE_SURROGATES } from '../../json/text.ts'
import {
  checkUnique,
  JsonError,
  MAX_DEPTH,
  type Member,
  members,
  skipSpace,
  type Span,
  valueOf,
  wholeMembers
} from '../../json/json.ts'
import { LARGE_BYTES, Payload } from '../../json/payload.ts'
import { sliceBuffers, type BufferList } from '../../json/buffer-list.ts'
import { errorAnswer, type Answer } from './call.ts'
import { UpstreamFailure, badResponse } from '../../protocol/upstream-failure.ts'

/** A JSON-RPC message, parsed down to its kind. `id` and `params` are JSON text; missing params are `{}`. */
export type Message =
  | { readonly kind: 'answer'; readonly id: string | undefined; readonly answer: Answer }
  | { readonly kind: 'request'; readonly id: string; readonly method: string; readonly params: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: string }

const HEAD = '{"jsonrpc":"2.0","id":'
const RESULT = ',"result":{'
const RESULT_FIRST = '{"result":{'
const TAIL = ',"jsonrpc":"2.0","id":'
const MARGIN = 128

/** Limit for each object that is listed: the list is garbage at once, and its collection blocks the event loop. */
const MAX_OBJECT_MEMBERS = 10_000
/**
 * Limits for messages read part by part, such as list pages: strings and depth of the parts are checked later. The
 * depth allows the largest definition to consist of brackets only.
 */
export const looseLimits: ByteLimits = {
  depth: 1_048_576,
  elements: Infinity,
  members: MAX_OBJECT_MEMBERS,
  isLoose: true
}
/** Limit of a scan that builds no values: elements are visited one by one, which blocks the event loop. */
const MAX_ELEMENTS = 1_000_000
/** The same limit for a request or notification, which is kept and read several times. */
const MAX_REQUEST_ELEMENTS = 100_000
/** Errors are parsed completely. */
const MAX_ERROR_BYTES = 262_144
const defaultLimits: ByteLimits = { depth: MAX_DEPTH, elements: MAX_ELEMENTS, members: MAX_OBJECT_MEMBERS }
/** Limits for the parameters of a request or notification. */
const paramLimits: ByteLimits = { depth: MAX_DEPTH, elements: MAX_REQUEST_ELEMENTS, members: MAX_OBJECT_MEMBERS }
/** Limits for text with line breaks and tabs, which are not allowed inside strings. */
const spacedLimits: ByteLimits = { ...defaultLimits, checksStrings: 'spaces' }

/** Reading instructions for a message whose text was checked. */
export interface TextCheck {
  readonly limits: ByteLimits
  /** True if the bytes were changed in place; the pieces they were assembled from no longer match. */
  readonly isRepaired: boolean
  /** False if no ASCII letter is escaped, as in nearly all messages. */
  readonly mayEscapeLetters: boolean
}

/** For list answers, which `upstream/discovery/list-items.ts` checks item by item. */
export const uncheckedList: TextCheck = { limits: looseLimits, isRepaired: false, mayEscapeLetters: true }
const plain: TextCheck = { limits: defaultLimits, isRepaired: false, mayEscapeLetters: false }
/** For a message whose text has been checked, but not for what it escapes. */
const checkedBefore: TextCheck = { ...plain, mayEscapeLetters: true }

/**
 * Checks the text of a message before it is parsed, in steps: valid UTF-8, and only characters that JSON allows in
 * strings. Replaces escapes of lone surrogates by U+FFFD in place, because many parsers reject the whole message over
 * them. Throws JsonError, or `bad_response` if the bytes are not UTF-8.
 */
export function* checkSteps(bytes: Buffer): Generator<void, TextCheck> {
  if (!isUtf8(bytes)) throw badResponse('answered with invalid UTF-8')
  const found = yield* textSteps(bytes)
  if (found === 0) return plain
  const isRepaired = (found & HAS_LONE_SURROGATES) !== 0
  const limits = (found & HAS_CONTROL_SPACE) === 0 ? defaultLimits : spacedLimits
  return { limits, isRepaired, mayEscapeLetters: (found & HAS_LETTER_ESCAPES) !== 0 }
}

/** A task holds the result of its call: both are read in one pass. */
const taskPath = ['result'] as const
const resultPath = ['result', ...taskPath]

/** Throws JsonError if a member is repeated in a result, or in the result of a task. */
function checkUniqueOfResult(found: readonly Member[]): void {
  checkUnique(found)
  for (const { members: own } of found) if (own) checkUnique(own)
}

const endsAt = (text: string, at: number) =>
  text.charCodeAt(at) === CLOSE_OBJECT && skipSpace(text, at + 1) === text.length

/** Returns the offset of the result's opening brace in the two layouts that the SDKs write; -1 for any other layout. */
function resultStart(head: string, id: string): number {
  if (head.startsWith(RESULT_FIRST)) return RESULT_FIRST.length - 1
  const isFirst = head.startsWith(HEAD) && head.startsWith(id, HEAD.length)
  return isFirst && head.startsWith(RESULT, HEAD.length + id.length) ? HEAD.length + id.length + RESULT.length - 1 : -1
}

/** True if a message is parsed as bytes: large, or loosely. */
const isReadAsBytes = (bytes: Buffer, limits: ByteLimits): boolean =>
  limits.isLoose === true || bytes.length > LARGE_BYTES

/**
 * Returns the result for the request `id` if the message has the layout of the SDKs (id before the result, or last);
 * null for any other message, which `messageSteps` then handles. Both take valid UTF-8, yield between the parts of a
 * large message, and throw JsonError. `pieces`: the same bytes in buffers that may be kept, unlike `bytes`.
 */
export function* quickResultSteps(
  bytes: Buffer,
  id: string,
  { limits, mayEscapeLetters } = checkedBefore,
  pieces: BufferList = [bytes]
): Generator<void, Answer | null> {
  const isBytes = isReadAsBytes(bytes, limits)
  const head = bytes.toString('latin1', 0, isBytes ? MARGIN : bytes.length)
  const start = resultStart(head, id)
  if (start < 0) return null
  // counted from the result
  const depth = limits.depth - 1
  const found = isBytes
    ? yield* memberSteps(bytes, start, { ...limits, depth }, taskPath)
    : members(head, start, { ...limits, depth }, taskPath)
  const end = isBytes ? endOfMembers(bytes, start, found) : skipSpace(head, found.at(-1)?.end ?? start + 1) + 1
  if (isBytes && bytes.length - end > MARGIN) return null
  // only the end of a large body is decoded to a string
  const text = isBytes ? bytes.toString('latin1', end) : head
  let at = isBytes ? 0 : end
  if (start === RESULT_FIRST.length - 1) {
    if (!text.startsWith(TAIL, at) || !text.startsWith(id, at + TAIL.length)) return null
    at += TAIL.length + id.length
  }
  if (!endsAt(text, at)) return null
  if (!limits.isLoose) checkUniqueOfResult(found)
  const known = { members: found, base: start }
  const body = isBytes
    ? Payload.ofBuffers(sliceBuffers(pieces, start, end), known, mayEscapeLetters)
    : Payload.ofLatin1(head.slice(start, end), known, mayEscapeLetters)
  return { kind: 'result', body }
}

function isErrorObject(text: string): boolean {
  if (text.charCodeAt(0) !== OPEN_OBJECT) return false
  const found = members(text)
  checkUnique(found)
  return /^-?\d{1,15}$/.test(valueOf(text, found, 'code') ?? '') && valueOf(text, found, 'message')?.[0] === '"'
}

/** True for JSON text of an id that JSON-RPC allows in a request. */
const isId = (id: string) => /^(?:"|-?\d)/.test(id)

/** Reads a request or notification; `found` are the members of the message. */
function readRequest(bytes: Buffer, text: string | undefined, found: readonly Member[]): Message {
  const at = (key: string) => found.find((each) => each.key === key)
  const [method, idAt] = [at('method')!, at('id')]
  const id = idAt && bytes.toString('utf8', idAt.start, idAt.end)
  if (bytes[method.start] !== QUOTE || (id !== undefined && !isId(id))) throw notRpc()
  const name = JSON.parse(bytes.toString('utf8', method.start, method.end)) as string
  const params = at('params')
  if (params && bytes[params.start] !== OPEN_OBJECT) throw badResponse('sent parameters that are not an object')
  // a person must be shown the same value that the client parses, so members must not repeat
  if (params) {
    const { start } = params
    checkUnique(text === undefined ? membersOfBytes(bytes, start, paramLimits) : members(text, start, paramLimits))
  }
  const paramsText = params ? bytes.toString('utf8', params.start, params.end) : '{}'
  return id === undefined
    ? { kind: 'notification', method: name, params: paramsText }
    : { kind: 'request', id, method: name, params: paramsText }
}

const notRpc = () => badResponse('answered with something that is not JSON-RPC 2.0')

/**
 * Reads one message whose text has been checked, in steps. Throws JsonError, or UpstreamFailure if the message is not
 * JSON-RPC 2.0.
 */
export function* messageSteps(
  bytes: Buffer,
  { limits, mayEscapeLetters } = checkedBefore,
  pieces: BufferList = [bytes]
): Generator<void, Message> {
  const isBytes = isReadAsBytes(bytes, limits)
  const text = isBytes ? undefined : bytes.toString('latin1')
  const found = isBytes ? yield* wholeMemberSteps(bytes, limits, resultPath) : wholeMembers(text!, limits, resultPath)
  checkUnique(found)
  const member = (key: string) => found.find((each) => each.key === key)
  const slice = ({ start, end }: Span) => text?.slice(start, end) ?? bytes.toString('latin1', start, end)
  const valueAt = (key: string) => {
    const at = member(key)
    return at && slice(at)
  }
  if (valueAt('jsonrpc') !== '"2.0"') throw notRpc()
  const id = valueAt('id')
  const result = member('result')
  const error = member('error')
  if (member('method') && !result && !error) return readRequest(bytes, text, found)
  if (!result === !error)
    throw badResponse(`answered with ${result ? 'both a result and an' : 'neither a result nor an'} error`)
  const { start, end, members: own } = (result ?? error)!
  if (error && end - start > MAX_ERROR_BYTES) {
    throw new UpstreamFailure('too_large', `answered with an error of more than ${MAX_ERROR_BYTES} bytes`)
  }
  if (result ? bytes[start] !== OPEN_OBJECT : !isErrorObject(slice({ start, end }))) {
    throw badResponse(`answered with ${result ? 'a result' : 'an error'} of the wrong shape`)
  }
  if (own && !limits.isLoose) checkUniqueOfResult(own)
  const known = own ? { members: own, base: start } : null
  const body =
    limits.isLoose || end - start > LARGE_BYTES
      ? Payload.ofBuffers(sliceBuffers(pieces, start, end), known, mayEscapeLetters)
      : Payload.ofLatin1(slice({ start, end }), known, mayEscapeLetters)
  return { kind: 'answer', id, answer: { kind: result ? 'result' : 'error', body } }
}

/** Kind and id of a message that cannot be used. */
export interface MessageAddress {
  readonly kind: Message['kind']
  /** JSON text as received. */
  readonly id: string | undefined
}

/** Bytes at the start and at the end of a message that are searched for its id. */
const LAYOUT_BYTES = 512
const RPC = /"jsonrpc"\s*:\s*"2\.0"/.source
const ID = /("(?:[^"\\]|\\.)*"|-?\d+)/.source
const LAYOUT_HEAD = new RegExp(
  `^\\s*\\{\\s*(?:${RPC}\\s*,\\s*)?(?:"id"\\s*:\\s*${ID}\\s*,\\s*)?"(method|result|error)"\\s*:`
)
const LAYOUT_TAIL = new RegExp(`"id"\\s*:\\s*${ID}\\s*(?:,\\s*${RPC}\\s*)?\\}\\s*$`)

/** Finds kind and id in the layouts that the SDKs write: the id is the first member or the last one. */
function addressByLayout(bytes: Buffer): MessageAddress | undefined {
  const head = LAYOUT_HEAD.exec(bytes.toString('latin1', 0, LAYOUT_BYTES))
  if (!head) return undefined
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - LAYOUT_BYTES))
  const id = head[1] ?? LAYOUT_TAIL.exec(tail)?.[1]
  if (head[2] === 'method') return { kind: id === undefined ? 'notification' : 'request', id }
  return id === undefined ? undefined : { kind: 'answer', id }
}

function addressByMembers(bytes: Buffer): MessageAddress | undefined {
  try {
    const found = complete(wholeMemberSteps(bytes, looseLimits, []))
    const idAt = found.findLast(({ key }) => key === 'id')
    const id = idAt && bytes.toString('latin1', idAt.start, idAt.end).trim()
    const isRequest =
      found.some(({ key }) => key === 'method') && !found.some(({ key }) => key === 'result' || key === 'error')
    if (isRequest) return { kind: id === undefined ? 'notification' : 'request', id }
    return id === undefined ? undefined : { kind: 'answer', id }
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/**
 * Finds the kind and id of a malformed message; undefined if even these cannot be read. Large messages are not searched
 * beyond both ends: for megabytes of brackets, that would take as long as all other work of a second.
 */
export function addressOf(bytes: Buffer): MessageAddress | undefined {
  const byMembers = bytes.length > LARGE_BYTES ? undefined : addressByMembers(bytes)
  return byMembers ?? addressByLayout(bytes)
}

/**
 * Returns the id for refusing a malformed request, as JSON text that is safe to send back; undefined for any other id.
 */
export const refusableId = (id: string | undefined): string | undefined =>
  id !== undefined && /^(?:-?\d{1,15}|"[ !#-[\]-~]{0,200}")$/.test(id) ? id : undefined

/** Returns the answer to a list request without checking its items, in steps; undefined for any other message. */
export function* listAnswerSteps(
  bytes: Buffer,
  pieces: BufferList
): Generator<void, Extract<Message, { kind: 'answer' }> | undefined> {
  try {
    const message = yield* messageSteps(bytes, uncheckedList, pieces)
    return message.kind === 'answer' ? message : undefined
  } catch (error) {
    if (error instanceof JsonError || error instanceof UpstreamFailure) return undefined
    throw error
  }
}

/**
 * Returns the buffers that a message may be kept in. `bytes`: the pieces in one buffer, which is reused; `screened`: the
 * same, or the text without its secrets.
 */
export function keptPieces(pieces: BufferList, bytes: Buffer, screened: Buffer, { isRepaired }: TextCheck): BufferList {
  if (screened !== bytes) return [screened]
  return isRepaired && pieces.length > 1 ? [Buffer.from(bytes)] : pieces
}

/** Answer to a malformed request of an upstream. */
export const invalidRequest = errorAnswer(-32600, 'Invalid Request: malformed JSON')

/** Maps a JSON problem in an upstream's answer to the failure that the caller gets. */
export function toFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error
  if (!(error instanceof JsonError)) return badResponse('answered with something that cannot be read')
  if (error.problem === 'depth') return badResponse(`answered with JSON nested deeper than ${MAX_DEPTH} levels`)
  if (error.problem === 'elements') return badResponse(`answered with ${error.message}`)
  if (error.problem === 'duplicate') return badResponse('answered with JSON that repeats a member')
  return badResponse('answered with malformed JSON')
}

/** Cleans upstream text for the gateway's own messages: one line, no markup, at most 200 characters. */
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

/** Parses the body of an answer. Throws `bad_response`: strings and numbers have not been checked before. */
export function valueOfAnswer({ body }: Answer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>
  } catch {
    throw badResponse('answered with malformed JSON')
  }
}

/** Returns `code`, `data` and the cleaned `message` of a JSON-RPC error. */
export function readError(answer: Answer): { code: unknown; message: string; data: unknown } {
  const { code, message, data } = valueOfAnswer(answer)
  return { code, message: cleanText(String(message)), data }
}
