import { isObject } from '../../domain/is-object.ts'
import { escapeText } from '../../domain/text/text.ts'
import { hasHidden } from '../../domain/text/hidden-characters.ts'
import { elements, members, stringOf, withMembers } from '../../json/json.ts'
import type { Problem } from './left-out.ts'

/** Members of an entry of `skills/list` that its rules are about. */
export interface SkillEntry {
  readonly uri: string
  readonly frontmatter: Readonly<Record<string, unknown>> & { readonly name: string; readonly description: string }
  readonly resources: readonly { readonly uri: string }[] | 'dynamic'
}

const MANIFEST = '/SKILL.md'

/** Rules of the Agent Skills specification, in characters. */
const MAX_NAME = 64
const MAX_DESCRIPTION = 1_024
const MAX_COMPATIBILITY = 500
const skillName = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Returns the URI of a skill's directory: that of its `SKILL.md` without the file; undefined for other URIs. */
export function skillRootOf(uri: string): string | undefined {
  if (!uri.endsWith(MANIFEST)) return undefined
  const root = uri.slice(0, -MANIFEST.length)
  return root.endsWith('/') || !root.includes(':') ? undefined : root
}

/** Returns the form of a URI that its spellings share, as URL parsers read them; undefined for other texts. */
export function canonicalUri(uri: string): string | undefined {
  try {
    return new URL(uri).href
  } catch {
    return undefined
  }
}

const dotSegment = /^(\.|%2e){1,2}$/i
/** Characters that URL parsers skip or take for a slash, or that end the path. */
const unsafe = /[\s\\?#]/

/** Decodes the escapes of a URI; undefined if one is malformed. */
function decodeEscapes(uri: string): string | undefined {
  try {
    return decodeURIComponent(uri)
  } catch {
    return undefined
  }
}

/** Returns why clients may read a URI of an entry as another one than the gateway; undefined if they do not. */
function uriProblem(uri: string): string | undefined {
  if (unsafe.test(uri) || hasHidden(uri))
    return 'has white space, hidden characters, a backslash, a query or a fragment'
  if (uri.split('/').some((segment) => dotSegment.test(segment))) return 'has a segment "." or ".."'
  if (/^skill:(?!\/\/)/i.test(uri)) return 'does not begin with "skill://"'
  return canonicalUri(uri) === undefined || decodeEscapes(uri) === undefined ? 'is not valid' : undefined
}

/** Returns true if a path below a skill's directory is safe to resolve: no part of it is empty, or holds a slash. */
const isPath = (path: string) => path.split('/').every((part) => part !== '' && !/%(2f|00)/i.test(part))

const isTooLong = (text: string, max: number) => text.length > 2 * max || Array.from(text).length > max

const isTextMap = (value: unknown) => isObject(value) && Object.values(value).every((each) => typeof each === 'string')

function frontmatterProblem({ name, description, ...others }: SkillEntry['frontmatter']): string | undefined {
  if (isTooLong(name, MAX_NAME) || !skillName.test(name))
    return `its name is not one of at most ${MAX_NAME} lower-case letters, digits and single "-"`
  if (description === '' || isTooLong(description, MAX_DESCRIPTION))
    return `its description is empty or longer than ${MAX_DESCRIPTION} characters`
  const { compatibility, metadata } = others
  const isText = typeof compatibility === 'string' && compatibility !== ''
  if (compatibility !== undefined && !(isText && !isTooLong(compatibility, MAX_COMPATIBILITY)))
    return `its compatibility is not a text of at most ${MAX_COMPATIBILITY} characters`
  if (metadata !== undefined && !isTextMap(metadata)) return 'its metadata does not map texts to texts'
  return Object.hasOwn(others, '__proto__') ? 'its frontmatter has a member "__proto__"' : undefined
}

function filesProblem(uri: string, root: string, resources: readonly { readonly uri: string }[]): string | undefined {
  const canonicalRoot = canonicalUri(root + MANIFEST)!.slice(0, -MANIFEST.length)
  const seen = new Set<string>()
  for (const { uri: file } of resources) {
    const problem = uriProblem(file)
    const label = `"${escapeText(file, 80)}" of its files`
    if (problem !== undefined) return `the URI ${label} ${problem}`
    const canonical = canonicalUri(file)!
    const path = canonical.startsWith(`${canonicalRoot}/`) ? canonical.slice(canonicalRoot.length + 1) : ''
    if (!isPath(path)) return `the URI ${label} is not within the skill's directory`
    const spelled = decodeEscapes(canonical)!
    if (seen.has(spelled)) return `the URI ${label} is listed twice`
    seen.add(spelled)
  }
  return seen.has(decodeEscapes(canonicalUri(uri)!)!) ? undefined : 'its files do not include its SKILL.md'
}

function ruleProblem({ uri, frontmatter, resources }: SkillEntry): string | undefined {
  const problem = uriProblem(uri)
  if (problem !== undefined) return `its URI ${problem}`
  const root = skillRootOf(uri)
  if (root === undefined) return 'its URI does not end with "/SKILL.md" below a directory'
  const wrong = frontmatterProblem(frontmatter)
  if (wrong !== undefined) return wrong
  if (root.slice(root.lastIndexOf('/') + 1) !== frontmatter.name) return 'its directory is not called like the skill'
  return resources === 'dynamic' ? undefined : filesProblem(uri, root, resources)
}

/**
 * Returns the problem of a skill's entry that breaks a rule of the Skills extension or of Agent Skills, if any: clients
 * reject a whole list because of one such entry (mcp-proxy.md#skills). Digests are not checked: only the client has the
 * files.
 */
export function skillProblem(entry: SkillEntry): Problem | undefined {
  const reason = ruleProblem(entry)
  return reason === undefined ? undefined : { code: 'shape', reason }
}

/** Returns the URIs of a skill and of all its files. `definition` has passed `skillProblem`. */
export function skillUris(definition: string): string[] {
  const { uri, resources } = JSON.parse(definition) as SkillEntry
  return resources === 'dynamic' ? [uri] : [uri, ...resources.map((file) => file.uri)]
}

/** Tells by its URI at the server whether a file of a skill is shown. */
export type FileTest = (uri: string) => boolean

/**
 * Returns the positions of a skill's files that are not shown; undefined if its `SKILL.md` is among them, without which
 * clients would reject the entry. `definition` has passed `skillProblem`.
 */
export function hiddenFilesOf(definition: string, isShown: FileTest): readonly number[] | undefined {
  const { uri, resources } = JSON.parse(definition) as SkillEntry
  if (!isShown(uri)) return undefined
  if (resources === 'dynamic') return []
  const hidden = resources.flatMap((file, i) => (isShown(file.uri) ? [] : [i]))
  const spelled = (text: string) => decodeEscapes(canonicalUri(text)!)
  return hidden.some((i) => spelled(resources[i]!.uri) === spelled(uri)) ? undefined : hidden
}

const isAnyShown: FileTest = () => true

/**
 * Returns an entry with other URIs for the skill and each of its files, without the files that are not shown, all else
 * byte for byte: the frontmatter must stay what the author wrote. `definition` is valid JSON.
 */
export function withSkillUris(
  definition: string,
  addressOf: (uri: string) => string,
  isShown: FileTest = isAnyShown
): string {
  const readdress = (text: string, own = members(text)): Record<string, string> => {
    const uri = stringOf(text, own, 'uri')
    const address = uri === undefined ? undefined : addressOf(uri)
    return address === undefined || address === uri ? {} : { uri: JSON.stringify(address) }
  }
  const found = members(definition)
  const changes = readdress(definition, found)
  const files = found.findLast(({ key }) => key === 'resources')
  if (files && definition[files.start] === '[') {
    const changed = elements(definition, files.start).flatMap(({ start, end }) => {
      const file = definition.slice(start, end)
      if (!file.startsWith('{')) return [file]
      const own = members(file)
      const isHidden = isShown !== isAnyShown && !isShown(stringOf(file, own, 'uri') ?? '')
      return isHidden ? [] : [withMembers(file, readdress(file, own), own)]
    })
    changes.resources = `[${changed.join(',')}]`
  }
  return withMembers(definition, changes, found)
}
