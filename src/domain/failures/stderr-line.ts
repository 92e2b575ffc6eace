import { stripVTControlCharacters } from 'node:util'
import { truncate } from '../text/text.ts'

/** Limit of a shown line, in characters. */
const MAX_LINE = 200
/** Limit of the lines shown beside a failure. */
const MAX_LINES = 20
/** Characters of a line that are looked at: a longer line is no message for people. */
const MAX_READ = 2_000

const identity = (text: string) => text

/** A line of a stack trace. */
const frame = /^(npm (error|ERR!) *)?\s*at (?:.* \()?[\w./:@<[\\-]|^\s*\d+: 0x[\da-f]+ /

/** Lines that never say why: frames, source excerpts, closing brackets, members of printed errors, general advice. */
const noise: readonly RegExp[] = [
  frame,
  /^npm (error|ERR!)$/,
  /^npm (error|ERR!) (code|errno|syscall|path|dest|file|command|type) /,
  /^npm (error|ERR!)\s+(code|errno|syscall|address|port|type): /,
  /^npm (error|ERR!) (A complete log of this run|Log files were not written|You can rerun the command)/,
  /^npm (error|ERR!)( network)? (If you are behind a proxy|'proxy' config|This is a problem related to network|In most cases)/,
  /^npm (warn|notice|WARN)\b/,
  /^Node\.js v\d/,
  /^Traceback \(most recent call last\)/,
  /^The above exception was|^During handling of the above exception/,
  /^File ".*", line \d+/,
  /^(code|errno|syscall|address|port|type|path|hostname|requireStack|url): /,
  /^Require stack:|^- \//,
  /^Emitted 'error' event on/,
  /^\(Use `node |^\(node:\d+\) Warning:/,
  /^throw /,
  /^[\s{}[\]()^~|<>.-]*$/,
  /^<--- |^----- /,
  /^Run '.* --help'|^See '.* --help'|^For more information/,
  /^hint: (?!An index URL)/
]

/** Patterns of the line to show, best first. Among equal lines the last is shown: it is closest to the exit. */
const ranks: readonly RegExp[] = [
  /^FATAL\b|^panic: |heap out of memory/,
  /^npm (error|ERR!) (404 Not Found|notarget No matching|notsup Required|could not determine executable|40[13] (403 )?\w+ - )/,
  /^npm (error|ERR!) (network (request|timeout)|FetchError|request to .* failed|Your cache folder)/,
  /Cannot connect to the Docker daemon|Error response from daemon|docker: permission denied/,
  /^\[cause\]: |^cause: (Because|invalid peer certificate)|^hint: An index URL/,
  /^(uncaught )?([\w$]+\.)*\w*(Error|Exception|Exit)( \[\w+\])?: \S/i,
  /No module named|can't open file|environment variable|bad option/,
  /^(error|fatal)\b/i,
  /\b(error|fail(ed|ure|s)?|cannot|could not|can't|unable|not found|required|missing|denied|refused|invalid|unknown|must|please)\b/i
]

/** Returns a line without colours, control characters and the spaces around it. */
const cleaned = (line: string): string =>
  stripVTControlCharacters(line.slice(0, MAX_READ))
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    .trim()

function rankOf(line: string): number {
  const found = ranks.findIndex((pattern) => pattern.test(line))
  if (noise.some((pattern) => pattern.test(line))) return ranks.length + 1
  return found < 0 ? ranks.length : found
}

/**
 * Returns the line of a program's stderr that says best why it failed: one printable line of at most 200 characters,
 * or an empty text. `redact` removes the secrets of that server.
 */
export function bestLine(lines: readonly string[], redact: (text: string) => string = identity): string {
  let best = ''
  let bestRank = Infinity
  for (const raw of lines) {
    const line = cleaned(redact(raw))
    if (line === '') continue
    const rank = rankOf(line)
    if (rank > bestRank) continue
    best = line
    bestRank = rank
  }
  return truncate(best, MAX_LINE)
}

/** Message about a program that ended, followed by the last line of its stderr */
const endedWith =
  /^((?:server "[^"]*": )?the process (?:exited with code \d+|was ended by signal \w+|closed its pipes)): .*$/s

/** Returns a stored message without the line of stderr that it may end with, for readers who are no administrators. */
export const withoutOutput = (message: string): string => message.replace(endedWith, '$1')

/** Returns the last 20 lines that are neither blank nor of a stack trace, each printable and of at most 200 characters, oldest first. */
export const lastLines = (lines: readonly string[], redact: (text: string) => string = identity): string[] =>
  lines
    .map((line) =>
      stripVTControlCharacters(redact(line).slice(0, MAX_READ)).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    )
    .filter((line) => line.trim() !== '' && !frame.test(line))
    .slice(-MAX_LINES)
    .map((line) => truncate(line.trimEnd(), MAX_LINE))
