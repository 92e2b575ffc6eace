import { useMemo } from 'preact/hooks'
import { gateway } from '../mount.ts'
import { PRODUCT } from '../../../src/domain/product.ts'
import type { PromptView } from '../../../src/schemas/dashboard/prompts.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { count } from '../format.ts'
import { isJsonObject, isList, printJson, type Json, type JsonObject } from '../form/json.ts'
import { Runner } from '../form/runner.tsx'
import { ask, type Answer } from '../results/answer.ts'
import { blockOf } from '../results/blocks.ts'
import { ResultFrame } from '../results/result.tsx'
import { BlockView } from '../results/result-blocks.tsx'
import { postCurl, shellWord } from '../tools/curl.ts'
import { ItemNotices } from '../tools/change-notice.tsx'
import { ItemHead } from '../tools/item-head.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { ServerNotice } from '../tools/server-notice.tsx'
import { promptSchema } from './prompt-schema.ts'

/** Prompt with its description, arguments and resulting messages. */
export function PromptDetail({ prompt }: { prompt: PromptView }) {
  const { canonical_name: name } = prompt
  const schema = useMemo(() => promptSchema(prompt), [prompt])
  const body = (args: JsonObject) => ({ name, arguments: args })
  return (
    <section class="det" aria-labelledby="prompt-name">
      <ItemHead kind="prompts" item={prompt} id="prompt-name" />
      <div class="actions">
        <ItemTags item={prompt} />
        <span class="tag">~{count(prompt.tokens)} tokens</span>
      </div>
      <ItemNotices kind="prompts" item={prompt} />
      <Runner
        key={name}
        name={name}
        schema={schema}
        action="Render"
        failed="The prompt was not rendered."
        run={(args, signal) => ask('/api/v0/prompts/render', body(args), signal)}
        copies={{
          'Copy as curl': (args) => postCurl('/api/v0/prompts/render', body(args), gateway),
          'Copy as CLI': (args) => asCli(name, args)
        }}
        result={(answer) => <Messages answer={answer} />}
      >
        <ServerNotice item={prompt} itemKind="prompt" />
      </Runner>
    </section>
  )
}

const asCli = (name: string, args: JsonObject): string =>
  [
    `${PRODUCT} get prompt ${shellWord(name)}`,
    ...Object.entries(args).map(([key, value]) => `--arg ${shellWord(`${key}=${textOf(value)}`)}`)
  ].join(' ')

const textOf = (value: Json): string => (typeof value === 'string' ? value : printJson(value, 0))

/** Messages for the model, each with its role. */
function Messages({ answer }: { answer: Answer }) {
  const result = isJsonObject(answer.value) ? answer.value : {}
  const messages = isList(result.messages) ? result.messages.filter(isJsonObject) : []
  return (
    <ResultFrame answer={answer}>
      {typeof result.description === 'string' && (
        <p class="muted">
          <UntrustedText text={result.description} />
        </p>
      )}
      {messages.map((message, at) => (
        <div key={at} class="message">
          <p class="role">
            <UntrustedText text={typeof message.role === 'string' ? message.role : 'unknown'} />
          </p>
          <BlockView block={blockOf(message.content ?? null)} />
        </div>
      ))}
      {messages.length === 0 && <p class="muted">The prompt has no messages.</p>}
    </ResultFrame>
  )
}
