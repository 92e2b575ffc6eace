import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import type { Policy, PolicyDecision } from '../../../src/schemas/policy.ts'
import { ApiError, send } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import * as sources from '../sources.ts'
import { Field } from '../ui/field.tsx'
import { ErrorPanel } from '../ui/panels.tsx'
import { Decision } from './decision.tsx'

const kinds = { tool: 'Tool', prompt: 'Prompt', resource: 'Resource' } as const
type Kind = keyof typeof kinds
const callerKinds = { user: 'User', client: 'MCP client', groups: 'Anyone of the groups' } as const
type CallerKind = keyof typeof callerKinds

interface Question {
  readonly who: CallerKind
  readonly caller: string
  readonly kind: Kind
  readonly item: string
  readonly endpoint: string
}

const questionOf = (query: PageProps['query']): Question => ({
  who: query.who !== undefined && query.who in callerKinds ? (query.who as CallerKind) : 'user',
  caller: query.caller ?? '',
  kind: query.kind !== undefined && query.kind in kinds ? (query.kind as Kind) : 'tool',
  item: query.item ?? '',
  endpoint: query.endpoint ?? ''
})

/** Returns the text of the request; the arguments are sent as they were written, because their exact text decides. */
function bodyText({ who, caller, kind, item, endpoint }: Question, args: string): string {
  const names = caller.split(',').map((each) => each.trim())
  const body = JSON.stringify({
    [who]: who === 'groups' ? names.filter(Boolean) : caller.trim(),
    kind,
    name: item.trim(),
    ...(endpoint && { endpoint })
  })
  return args.trim() === '' ? body : `${body.slice(0, -1)},"args":${args}}`
}

interface ChoiceProps<Id extends string> {
  readonly label: string
  readonly options: Readonly<Record<Id, string>>
  readonly value: Id
  readonly onChange: (value: Id) => void
}

const Choice = <Id extends string>({ label, options, value, onChange }: ChoiceProps<Id>) => (
  <Field label={label}>
    {(attributes) => (
      <select {...attributes} class="in" value={value} onChange={(event) => onChange(event.currentTarget.value as Id)}>
        {Object.entries<string>(options).map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
)

interface NameProps {
  readonly label: string
  readonly note?: string
  readonly value: string
  readonly names: readonly string[]
  readonly placeholder: string
  readonly required?: boolean
  readonly onInput: (value: string) => void
}

function Name({ label, note, value, names, placeholder, required = false, onInput }: NameProps) {
  const list = useId()
  return (
    <Field label={label} {...(note === undefined ? {} : { note })}>
      {(attributes) => (
        <>
          <input
            {...attributes}
            class="in mono"
            list={list}
            required={required}
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholder}
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          <datalist id={list}>
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

const namesOf = (list: readonly { readonly name: string }[] | undefined): readonly string[] =>
  (list ?? []).map(({ name }) => name)

function Fields({ asked, onAsk }: { asked: Question; onAsk: (changes: Partial<Question>) => void }) {
  const users = useSource(sources.users)
  const clients = useSource(sources.clients)
  const tools = useSource(sources.tools)
  const groups = useSource(sources.groups)
  const callers = { user: namesOf(users.data.value), client: namesOf(clients.data.value), groups: [] }
  const toolNames = (tools.data.value?.tools ?? []).map((tool) => tool.canonical_name)
  return (
    <>
      <Choice label="Who" options={callerKinds} value={asked.who} onChange={(who) => onAsk({ who, caller: '' })} />
      <Name
        label={asked.who === 'groups' ? 'Names of groups' : 'Name'}
        required
        names={callers[asked.who]}
        placeholder={asked.who === 'groups' ? 'sre, platform' : 'alice'}
        value={asked.caller}
        onInput={(caller) => onAsk({ caller })}
      />
      <Choice label="What" options={kinds} value={asked.kind} onChange={(kind) => onAsk({ kind })} />
      <Name
        label={asked.kind === 'resource' ? 'URI' : `Name of the ${asked.kind}`}
        required
        names={asked.kind === 'tool' ? toolNames : []}
        placeholder={asked.kind === 'resource' ? 'docs://guide' : 'k8s__restart_pod'}
        value={asked.item}
        onInput={(item) => onAsk({ item })}
      />
      <Name
        label="At the endpoint of the tool group"
        note="optional"
        names={namesOf(groups.data.value?.tool_groups)}
        placeholder="the endpoint of everything"
        value={asked.endpoint}
        onInput={(endpoint) => onAsk({ endpoint })}
      />
    </>
  )
}

/** Answers why a caller can or cannot call something, by the gateway's own decision. The question is in the address. */
export function Explain({ query, policies }: { query: PageProps['query']; policies: readonly Policy[] }) {
  const { location } = useApp()
  const asked = useSignal(questionOf(query))
  const args = useSignal('')
  const decided = useSignal<{ readonly question: Question; readonly decision: PolicyDecision } | undefined>(undefined)
  const failure = useSignal<ApiError | undefined>(undefined)

  const ask = async () => {
    const question = asked.value
    failure.value = undefined
    location.setQuery({ ...question })
    try {
      const text = bodyText(question, args.value)
      const { body } = await send<PolicyDecision>('POST', '/api/v0/policies/simulate', { text })
      decided.value = { question, decision: body }
    } catch (error) {
      decided.value = undefined
      failure.value = error as ApiError
    }
  }
  useEffect(() => {
    if (asked.peek().caller !== '' && asked.peek().item !== '') void ask()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a link asks once, when it is opened
  }, [])
  return (
    <div class="stack">
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault()
          void ask()
        }}
      >
        <Fields asked={asked.value} onAsk={(changes) => (asked.value = { ...asked.value, ...changes })} />
        <Field label="Arguments" note="optional" wide help="JSON; conditions look at them">
          {(attributes) => (
            <textarea
              {...attributes}
              class="in"
              rows={2}
              spellcheck={false}
              placeholder='{"namespace": "staging"}'
              value={args.value}
              onInput={(event) => (args.value = event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="actions wide">
          <button type="submit" class="btn primary">
            Explain
          </button>
        </div>
      </form>
      {failure.value && <ErrorPanel title="There is no answer." error={failure.value} />}
      {decided.value && (
        <Decision
          caller={decided.value.question.caller}
          item={decided.value.question.item}
          decision={decided.value.decision}
          policies={policies}
        />
      )}
    </div>
  )
}
