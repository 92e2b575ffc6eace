import { isJsonObject, isList, parseJson, type Json, type JsonObject } from '../form/json.ts'

/** Display form of a result part. All content is untrusted: text is rendered as text, links are never followed. */
export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'json'; readonly value: Json; readonly text: string }
  | { readonly kind: 'image' | 'audio'; readonly url: string; readonly mimeType: string; readonly bytes: number }
  | {
      readonly kind: 'file'
      readonly base64: string
      readonly mimeType: string
      readonly bytes: number
      readonly uri: string
    }
  | { readonly kind: 'link'; readonly uri: string; readonly name: string; readonly details: readonly string[] }
  | { readonly kind: 'other'; readonly value: Json }

/** Size limit of inline images and audio; larger ones are offered as files (dashboard.md#untrusted-text). */
const MAX_MEDIA_BYTES = 8 * 1024 * 1024

const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml'])
const sounds = /^audio\/(mpeg|mp3|wav|wave|x-wav|ogg|webm|aac|mp4|flac)$/

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Returns the number of bytes that base64 text decodes to. */
export const base64Bytes = (text: string): number =>
  Math.max(0, Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0))

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** Returns a media type without parameters; a data URL must not contain more. */
const plainType = (mimeType: string): string => mimeType.split(';', 1)[0]!.trim().toLowerCase()

function media(data: string, mimeType: string, uri: string): Block {
  const type = plainType(mimeType)
  const bytes = base64Bytes(data)
  const isShown = isBase64(data) && bytes <= MAX_MEDIA_BYTES
  const url = `data:${type};base64,${data}`
  if (isShown && images.has(type)) return { kind: 'image', url, mimeType: type, bytes }
  if (isShown && sounds.test(type)) return { kind: 'audio', url, mimeType: type, bytes }
  return { kind: 'file', base64: data, mimeType: type || 'application/octet-stream', bytes, uri }
}

/** Returns a JSON block for text that holds an object or array; otherwise a text block. */
export function textBlock(text: string, mimeType = ''): Block {
  const isLikely = /json$/.test(plainType(mimeType)) || /^\s*[[{]/.test(text)
  if (!isLikely || text.length > 1_000_000) return { kind: 'text', text }
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? { kind: 'json', value, text } : { kind: 'text', text }
  } catch {
    return { kind: 'text', text }
  }
}

/** Converts an entry of `contents` of a read, or the `resource` in a result. */
export function contentsBlock(contents: JsonObject): Block {
  const { text, blob, mimeType, uri } = contents
  if (typeof text === 'string') return textBlock(text, textOf(mimeType))
  if (typeof blob === 'string') return media(blob, textOf(mimeType), textOf(uri))
  return { kind: 'other', value: contents }
}

function linkBlock({ uri, name, title, description, mimeType, size }: JsonObject): Block {
  const details = [textOf(description), textOf(mimeType), typeof size === 'number' ? `${size} bytes` : '']
  return { kind: 'link', uri: textOf(uri), name: textOf(title) || textOf(name), details: details.filter(Boolean) }
}

/** Converts an entry of `content` of a tool result or of a prompt message. */
export function blockOf(content: Json): Block {
  if (!isJsonObject(content)) return { kind: 'other', value: content }
  const { type, text, data, mimeType, resource } = content
  if (type === 'text' && typeof text === 'string') return textBlock(text)
  if ((type === 'image' || type === 'audio') && typeof data === 'string') return media(data, textOf(mimeType), '')
  if (type === 'resource_link' && typeof content.uri === 'string') return linkBlock(content)
  if (type === 'resource' && isJsonObject(resource ?? null)) return contentsBlock(resource as JsonObject)
  return { kind: 'other', value: content }
}

export const blocksOf = (content: Json | undefined): Block[] => (isList(content) ? content.map(blockOf) : [])

/** Returns the URL if it may be linked: only http and https, shown in full (dashboard.md#untrusted-text). */
export function safeLink(uri: string): string | undefined {
  try {
    const { protocol } = new URL(uri)
    return protocol === 'http:' || protocol === 'https:' ? uri : undefined
  } catch {
    return undefined
  }
}
