import { useMemo } from 'preact/hooks'
import { gateway } from '../mount.ts'
import { PRODUCT } from '../../../src/domain/product.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { bytes } from '../format.ts'
import { isJsonObject, isList, type JsonObject } from '../form/json.ts'
import { Runner } from '../form/runner.tsx'
import { ask, type Answer } from '../results/answer.ts'
import { contentsBlock } from '../results/blocks.ts'
import { ResultFrame } from '../results/result.tsx'
import { BlockView } from '../results/result-blocks.tsx'
import { postCurl, shellWord } from '../tools/curl.ts'
import { appOf } from './app.ts'
import { AppFacts } from './app-facts.tsx'
import { expandTemplate, templateVariables } from './template.ts'

interface ReaderProps {
  /** URI, or URI template. */
  readonly uri: string
  readonly isTemplate: boolean
  readonly children?: preact.ComponentChildren
}

/** Reads a resource and shows its contents. */
export function Reader({ uri, isTemplate, children }: ReaderProps) {
  const schema = useMemo(() => (isTemplate ? schemaOf(uri) : { type: 'object' }), [isTemplate, uri])
  const target = (args: JsonObject) => (isTemplate ? expandTemplate(uri, args as Record<string, string>) : uri)
  return (
    <Runner
      name={uri}
      schema={schema}
      action="Read"
      failed="The resource was not read."
      plain={!isTemplate}
      run={(args, signal) => ask('/api/v0/resources/read', { uri: target(args) }, signal)}
      copies={{
        'Copy as curl': (args) => postCurl('/api/v0/resources/read', { uri: target(args) }, gateway),
        'Copy as CLI': (args) => `${PRODUCT} read ${shellWord(target(args))}`
      }}
      result={(answer) => <Contents answer={answer} />}
    >
      {children}
    </Runner>
  )
}

const schemaOf = (template: string) => ({
  type: 'object',
  properties: Object.fromEntries(templateVariables(template).map((name) => [name, { type: 'string' }])),
  additionalProperties: false
})

/** Characters of a resource that are shown; Copy JSON has the rest. */
const MAX_SHOWN = 1_000_000

function Contents({ answer }: { answer: Answer }) {
  const result = isJsonObject(answer.value) ? answer.value : {}
  const contents = isList(result.contents) ? result.contents.filter(isJsonObject) : []
  return (
    <ResultFrame answer={answer}>
      {contents.map((each, at) => (
        <OneContents key={at} contents={each} isNamed={contents.length > 1} />
      ))}
      {contents.length === 0 && <p class="muted">The resource is empty.</p>}
    </ResultFrame>
  )
}

function OneContents({ contents, isNamed }: { contents: JsonObject; isNamed: boolean }) {
  const { text, uri } = contents
  const isCut = typeof text === 'string' && text.length > MAX_SHOWN
  const app = appOf(contents)
  const shown = isCut ? { ...contents, text: text.slice(0, MAX_SHOWN) } : contents
  return (
    <div class="stack">
      {isNamed && typeof uri === 'string' && (
        <code>
          <UntrustedText text={uri} />
        </code>
      )}
      {app && <AppFacts app={app} />}
      <BlockView block={contentsBlock(shown)} />
      {isCut && <p class="help">This is the first 1 MB of {bytes(text.length)}. Use “Copy JSON” to get all of it.</p>}
    </div>
  )
}
