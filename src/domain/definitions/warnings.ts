import { hasHidden } from '../text/hidden-characters.ts'
import { fold, hasMixedScripts } from './folding.ts'
import type { CountedMembers } from './canonical.ts'
import type { DefinitionKind, WarningRule } from './kinds.ts'

/** Something in a definition that people should look at before they accept it. It decides nothing. */
export interface Warning {
  readonly rule: WarningRule
  /** Member of the definition, such as `description` or `_meta.ui` */
  readonly member: string
}

/** Length of the part of a member that is searched, in UTF-16 units; a longer member is searched at both ends */
const MAX_SEARCHED = 131_072
/** Encoded pieces of one member that are decoded */
const MAX_ENCODED = 64
/** Length of the beginning of an encoded piece that is decoded */
const MAX_PIECE = 16_384

/** Phrases in folded text. Each gap is bounded, so that a search takes linear time. */
const phrases: readonly (readonly [WarningRule, readonly RegExp[]])[] = [
  [
    'override',
    [
      /\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.]{0,40}\b(?:previous|prior|above|earlier|preceding|other|all|any|your|system|safety)\b[^.]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|messages?|directions?|polic(?:y|ies)|constraints?|context)\b/,
      /\byou are (?:now|no longer)\b/,
      /\bnew (?:system )?instructions?:/,
      /\b(?:system|developer) (?:prompt|message|override)\b/,
      /\b(?:takes?|has|have) (?:absolute |highest |top )?(?:precedence|priority) over\b/
    ]
  ],
  [
    'secrecy',
    [
      /\b(?:do not|don'?t|never|must not|should not|without|avoid|not)\b[^.]{0,30}\b(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|show|showing|notify|notifying|disclose|disclosing|alert|alerting|ask|asking|let|letting)\b[^.]{0,30}\b(?:users?|humans?|anyone|anybody|person|people|operator)\b/,
      /\b(?:users?|humans?)\b[^.]{0,20}\b(?:must|should|may|can|does|do|need)(?: ?not|n'?t)\b[^.]{0,20}\b(?:know|see|notice|learn|be (?:told|aware|informed))\b/,
      /\b(?:keep|hide|conceal)\b[^.]{0,40}\b(?:secret|hidden|from the (?:user|human))\b/,
      /\b(?:secretly|covertly|silently)\b/,
      /\bbehind the scenes\b[^.]{0,40}\buser\b/
    ]
  ],
  [
    'instruction_tag',
    [
      /<\/?(?:important|system|instructions?|secret|admin|assistant|hidden|critical|override|sys|prompt|user|tool_call|function_calls?|rules?|mandatory)\b[^<>]{0,60}>/,
      /<!--/,
      /\[\/?(?:inst|system|important|instructions?)\]/,
      /<\|(?:im_start|im_end|system|user|assistant|endoftext)/,
      /(?:^|\s)#{1,6} ?(?:system|important|instructions? for (?:the )?(?:ai|model|assistant|agent|llm))\b/,
      /\b(?:note|message|instructions?) (?:to|for) (?:the )?(?:ai|llm|model|assistant|agent)s?\b/
    ]
  ],
  [
    'secret_path',
    [
      /\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\bauthorized_keys\b/,
      /\.aws\/|\.kube\/|\.docker\/config|\.gnupg\b|\.config\/gcloud|\.azure\//,
      /\/etc\/(?:passwd|shadow|sudoers)|\/proc\/self\/environ/,
      /(?:^|[\s"'`/(~])\.(?:env|netrc|npmrc|pgpass|pypirc|git-credentials|bash_history|zsh_history)\b/,
      /\.cursor\/|\bmcp\.json\b|claude_desktop_config|\bcookies\.sqlite\b|\blogin data\b|\bwallet\.dat\b/
    ]
  ],
  [
    'sending',
    [
      /\b(?:send|post|upload|forward|transmit|exfiltrate|submit|e-?mail|report|leak|copy|bcc|cc)\b[^\n]{0,80}(?:https?:\/\/|\bwebhook\b|[\w.+-]{1,64}@[\w-]{1,64}\.\w)/,
      /\b(?:curl|wget|invoke-webrequest)\b[^\n]{0,80}(?:https?:\/\/|\bwww\.)/,
      /!\[[^\]]{0,60}\]\(https?:\/\//,
      /\bbcc\b[^.]{0,40}\b(?:all|every|each|always)\b/
    ]
  ],
  [
    'secrets',
    [
      /\b(?:include|pass|provide|paste|append|put|add|attach|insert|read|copy|collect|supply|extract|place|dump|fill)\b[^.]{0,60}\b(?:api[ _-]?keys?|passwords?|passphrases?|access tokens?|auth(?:entication)? tokens?|private keys?|credentials?|ssh keys?|session tokens?|secret keys?|secrets|environment variables?|env vars?|conversation history|chat history|previous messages|system prompt)\b/
    ]
  ],
  [
    'before_other_tools',
    [
      /\b(?:before|prior to|after|when|whenever|each time|every time)\b[^.]{0,20}\b(?:using|calling|invoking|running|executing|you (?:use|call|invoke|run))\b[^.]{0,20}\b(?:any|other|another|every|all|each)\b[^.]{0,20}\b(?:tools?|functions?|commands?|servers?)\b/,
      /\b(?:must|always|required to|need to)\b[^.]{0,20}\b(?:call|use|run|invoke|execute)\b[^.]{0,20}\bthis (?:tool|function)\b[^.]{0,20}\b(?:first|before)\b/,
      /\bthis (?:tool|function)\b[^.]{0,20}\b(?:must|should)\b[^.]{0,20}\b(?:be )?(?:called|used|run|invoked|executed)\b[^.]{0,20}\b(?:first|before|prior)\b/,
      /\b(?:instead of|rather than)\b[^.]{0,30}\b(?:other|any other|the \w{1,40}) tools?\b/,
      /\bbefore (?:any|every|each)(?: other)? (?:tool|function|call|action|operation)\b/
    ]
  ]
]

const codePoint = (text: string, radix: number) => {
  const code = Number.parseInt(text, radix)
  return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : ''
}
const printable = (text: string) => (/^[\P{C}\s]*$/u.test(text) && /\p{L}{3}/u.test(text) ? text : undefined)

/** Encodings with the pieces of text that may be encoded so */
const encodings: readonly (readonly [RegExp, (piece: string) => string])[] = [
  [/[A-Za-z0-9+/_-]{16,}={0,2}/g, (piece) => Buffer.from(piece, 'base64').toString()],
  [/(?:[0-9a-f]{2}){12,}/gi, (piece) => Buffer.from(piece, 'hex').toString()],
  [
    /(?:\\x[0-9a-f]{2}|\\u[0-9a-f]{4}){6,}/gi,
    (piece) => piece.replace(/\\[xu]([0-9a-f]{2,4})/gi, (_, hex: string) => codePoint(hex, 16))
  ],
  [
    /(?:&#x?[0-9a-f]{2,6};\s?){6,}/gi,
    (piece) =>
      piece.replace(/&#(x?)([0-9a-f]+);/gi, (_, hex: string, digits: string) => codePoint(digits, hex ? 16 : 10))
  ],
  [
    /(?:%[0-9a-f]{2}|[\w.~+-]){12,}/gi,
    (piece) =>
      piece.includes('%')
        ? Buffer.from(
            piece.replace(/%(..)/g, (_, hex: string) => codePoint(hex, 16)),
            'latin1'
          ).toString()
        : ''
  ]
]

const foundIn = (folded: string): WarningRule[] =>
  phrases.flatMap(([rule, patterns]) => (patterns.some((pattern) => pattern.test(folded)) ? [rule] : []))

const rot13 = (text: string) =>
  text.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 84) % 26) + 97))
/** Words that ROT13 makes of words of phrases; the text is turned only if one of them occurs. */
const rot13Words = /\b(?:vtaber|qvfertneq|vafgehpgvbaf?|cnffjbeq|perqragvnyf?|flfgrz|frperg)\b/

/** Returns true if the text holds an encoded piece that decodes to one of the phrases. */
function hasEncodedPhrase(text: string, folded: string): boolean {
  if (rot13Words.test(folded) && foundIn(rot13(folded)).length > 0) return true
  for (const [pattern, decode] of encodings) {
    let left = MAX_ENCODED
    for (const [piece] of text.matchAll(pattern)) {
      if (--left < 0) break
      const decoded = printable(decode(piece.slice(0, MAX_PIECE)))
      if (decoded !== undefined && foundIn(fold(decoded)).length > 0) return true
    }
  }
  return false
}

/** Names that also are ordinary words say nothing. */
const isDistinctive = (name: string) => name.length >= 5 && /[_-]|[a-z][A-Z]|\d/.test(name)
const nameAt = /[A-Za-z][\w.-]{4,255}/g

/** Strings in canonical text, those of arrays and objects included */
function stringsIn(json: string): string {
  const texts: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        if (!Array.isArray(value)) texts.push(key)
        collect(member)
      }
    }
  }
  collect(JSON.parse(json))
  return texts.join('\n')
}

const ends = (text: string) =>
  text.length <= MAX_SEARCHED ? text : `${text.slice(0, MAX_SEARCHED / 2)}\n${text.slice(-MAX_SEARCHED / 2)}`

/** Members that hold names and addresses only */
const named = new Set(['name', 'uri', 'uriTemplate', 'mimeType'])

function warningsOfText(member: string, json: string, otherTools: Pick<ReadonlySet<string>, 'has'>): WarningRule[] {
  const whole = stringsIn(json)
  const text = ends(whole)
  // one character may become eighteen
  const folded = fold(text.normalize('NFKC').slice(0, 2 * MAX_SEARCHED)).slice(0, 2 * MAX_SEARCHED)
  const isText = !named.has(member)
  const namesOther = () =>
    text.match(nameAt)?.some((name) => isDistinctive(name) && otherTools.has(name.replace(/[.-]+$/, '')))
  return [
    ...(hasHidden(whole) ? (['hidden_characters'] as const) : []),
    ...(hasMixedScripts(text) ? (['mixed_scripts'] as const) : []),
    ...foundIn(folded),
    ...(isText && hasEncodedPhrase(text, folded) ? (['encoded'] as const) : []),
    ...(isText && namesOther() ? (['other_tool'] as const) : [])
  ]
}

/** Hints of a tool and the values that make it look more harmless, with what MCP assumes without the hint */
const milder = [
  { hint: 'destructiveHint', harmless: false, assumed: true },
  { hint: 'readOnlyHint', harmless: true, assumed: false }
]

function isMilder(before: string | undefined, after: string | undefined): boolean {
  const hints = (json: string | undefined) => JSON.parse(json ?? '{}') as Record<string, unknown>
  return milder.some(({ hint, harmless, assumed }) => {
    const value = (json: string | undefined) => hints(json)[hint] ?? assumed
    return value(before) !== harmless && value(after) === harmless
  })
}

/**
 * Returns what is suspicious in a definition, by the fixed rules of pinned-definitions.md#warnings. `pin`: the accepted definition, if
 * any. `otherTools`: names of other servers' tools, qualified and bare.
 */
export function warningsOf(
  kind: DefinitionKind,
  present: CountedMembers,
  pin: CountedMembers | undefined,
  otherTools: Pick<ReadonlySet<string>, 'has'>
): Warning[] {
  const found = [...present].flatMap(([member, json]) =>
    warningsOfText(member, json, otherTools).map((rule): Warning => ({ rule, member }))
  )
  const isMilderTool =
    kind === 'tool' && pin !== undefined && isMilder(pin.get('annotations'), present.get('annotations'))
  return isMilderTool ? [...found, { rule: 'milder_annotation', member: 'annotations' }] : found
}
