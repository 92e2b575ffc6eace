import { maskSecrets } from '../../domain/secrets/redaction.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { escapeText } from '../../domain/text/text.ts'

/** Returns the differing lines, with `-` and `+` before them. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[]
  ]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...now.slice(start, now.length - end).map((line) => `+ ${line}`)
  ]
}

/** A member whose value may be a secret, in JSON, TOML or YAML. */
const secretMember =
  /("?[\w-]*(?:auth|token|secret|key|passw|cookie)[\w-]*"?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'[{,#][^\s,#]*)/gi

/** Masks whatever looks like a secret in a line of a client's file. */
export const maskLine = (line: string): string =>
  escapeText(String(maskSecrets(line.replace(secretMember, `$1"${MASK}"`))), 2_000)
