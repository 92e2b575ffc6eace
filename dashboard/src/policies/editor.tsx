import { useSignal, type Signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isName, NAME_RULE } from '../../../src/domain/names.ts'
import { policySentence } from '../../../src/domain/policy/sentence.ts'
import type { Policy } from '../../../src/schemas/policy.ts'
import { change, type ApiError } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { sentence } from '../format.ts'
import { useGuard } from '../groups/use-guard.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { ConfirmEnforce, DeletePolicy, policyPath } from './dialogs.tsx'
import { draftOf, draftText, emptyDraft, isSame, policyBody, readDraft, type PolicyDraft } from './draft.ts'
import { ObservedFacts } from './observed.tsx'
import { Hint } from './hint.tsx'
import { PolicyForm } from './policy-form.tsx'
import { nameHints, type NameHints } from './prefixed.ts'
import { PolicyState, stateOf } from './state.tsx'
import { Trial } from './trial.tsx'

type View = 'form' | 'text'
const views = [
  { id: 'form', label: 'Form' },
  { id: 'text', label: 'Text' }
] as const

interface EditorState {
  readonly draft: Signal<PolicyDraft>
  /** Text that is no policy yet; undefined while both views show the draft. */
  readonly text: Signal<string | undefined>
  readonly view: Signal<View>
  readonly nameProblem: Signal<string>
  readonly failure: Signal<string>
}

function useEditing(saved: Policy | undefined): EditorState {
  const base = saved ? draftOf(saved) : emptyDraft
  const draft = useSignal(base)
  const known = useRef(base)
  // adopts changes saved elsewhere, unless something was changed here
  useEffect(() => {
    if (isSame(known.current, draft.peek())) draft.value = base
    known.current = base
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the base follows from the saved policy
  }, [saved])
  return {
    draft,
    text: useSignal<string | undefined>(undefined),
    view: useSignal<View>('form'),
    nameProblem: useSignal(''),
    failure: useSignal('')
  }
}

interface TextViewProps extends Pick<EditorState, 'draft' | 'text'> {
  readonly hints: NameHints
}

function TextView({ draft, text, hints }: TextViewProps) {
  const written = useSignal(draftText(draft.value))
  const read = readDraft(written.value)
  const hint = hints.tools ?? hints.prompts
  return (
    <Field
      label="Policy"
      help={hint === undefined ? 'JSON, as the REST interface takes it' : <Hint text={hint} />}
      error={'problem' in read ? read.problem : undefined}
    >
      {(attributes) => (
        <textarea
          {...attributes}
          class="in"
          rows={18}
          spellcheck={false}
          value={written.value}
          onInput={(event) => {
            written.value = event.currentTarget.value
            const next = readDraft(written.value)
            text.value = 'problem' in next ? written.value : undefined
            if ('draft' in next) draft.value = next.draft
          }}
        />
      )}
    </Field>
  )
}

/** Saves the draft; returns true if the gateway took it. */
function useSave(saved: Policy | undefined, editing: EditorState) {
  const { store, notice } = useApp()
  const { draft, failure, nameProblem } = editing
  return async (wanted: PolicyDraft): Promise<boolean> => {
    failure.value = ''
    const body = policyBody(wanted)
    try {
      if (saved) await change('PUT', policyPath(saved.name), body)
      else await change('POST', '/api/v0/policies', body)
    } catch (error) {
      const { message, status } = error as ApiError
      if (!saved && status === 409) nameProblem.value = `A policy named ${body.name} already exists.`
      failure.value = sentence(message)
      return false
    }
    draft.value = body
    notice.value = `Policy ${body.name} saved`
    await store.refresh(new Set(['policies']))
    return true
  }
}

interface HeadProps {
  readonly saved: Policy | undefined
  readonly draft: PolicyDraft
  readonly hasChanges: boolean
  readonly onDelete: () => void
  readonly onTry: () => void
  readonly onEnforce: () => void
  readonly onSave: () => void
}

function Head({ saved, draft, hasChanges, ...on }: HeadProps) {
  const crumb = (
    <>
      <a href={link('policies')}>Policies</a> <span aria-hidden="true">/</span>
    </>
  )
  return (
    <PageHead title={saved ? saved.name : 'New policy'} crumb={crumb} sub={saved && <PolicyState {...saved} />}>
      <span class="muted" role="status">
        {hasChanges && saved ? 'Not saved' : ''}
      </span>
      {saved && (
        <button type="button" class="btn" onClick={on.onDelete}>
          Delete
        </button>
      )}
      <button type="button" class="btn" onClick={on.onTry}>
        Try on the last day
      </button>
      {saved && !hasChanges && stateOf(draft) === 'observe' && (
        <button type="button" class="btn primary" onClick={on.onEnforce}>
          Enforce policy
        </button>
      )}
      {(hasChanges || !saved) && (
        <button type="button" class="btn primary" onClick={on.onSave}>
          Save policy
        </button>
      )}
    </PageHead>
  )
}

type Question = 'delete' | 'enforce' | undefined

/** Editor of a policy: a form and a text that are two views of one draft. Nothing is stored until it is saved. */
export function PolicyEditor({ saved }: { saved: Policy | undefined }) {
  const { location, store } = useApp()
  const editing = useEditing(saved)
  const { draft, text, view, nameProblem, failure } = editing
  const asking = useSignal<Question>(undefined)
  const tried = useSignal<PolicyDraft | undefined>(undefined)
  const leave = useSignal<(() => void) | undefined>(undefined)
  const hasChanges = !isSame(saved ? draftOf(saved) : emptyDraft, draft.value) || text.value !== undefined
  const release = useGuard(hasChanges, (go) => (leave.value = go))
  const save = useSave(saved, editing)
  const servers = useSource(sources.servers).data.value?.servers ?? []
  const hints = nameHints(
    draft.value,
    servers.map(({ name }) => name)
  )

  const isReady = (): boolean => {
    if (text.value !== undefined) failure.value = 'The text is no policy yet.'
    else if (!isName(draft.value.name)) {
      nameProblem.value = draft.value.name === '' ? 'Enter a name.' : `The name ${NAME_RULE}.`
      view.value = 'form'
    } else return true
    return false
  }
  const keep = async (wanted: PolicyDraft) => {
    if (!(await save(wanted))) return
    tried.value = undefined
    if (saved) return
    release()
    location.navigate(link('policy', wanted.name))
  }
  const onSave = () => {
    if (!isReady()) return
    if (stateOf(draft.value) === 'enforce') asking.value = 'enforce'
    else void keep(draft.value)
  }
  return (
    <>
      <Head
        saved={saved}
        draft={draft.value}
        hasChanges={hasChanges}
        onDelete={() => (asking.value = 'delete')}
        onTry={() => isReady() && (tried.value = policyBody(draft.value))}
        onEnforce={() => (asking.value = 'enforce')}
        onSave={onSave}
      />
      {failure.value && (
        <p class="banner err" role="alert">
          <strong>The policy was not saved.</strong> <UntrustedText text={failure.value} />
        </p>
      )}
      <p class="sentence panel" aria-live="polite">
        <UntrustedText text={policySentence(draft.value)} />.
      </p>
      {saved?.observed && <ObservedFacts effect={saved.effect} observed={saved.observed} />}
      {tried.value && (
        <section class="panel below" aria-label="Trial on the calls of the last day">
          <h2>On the calls of the last day</h2>
          <Trial change={{ with: tried.value }} />
        </section>
      )}
      <Tabs
        label="Views of the policy"
        tabs={views}
        current={view.value}
        onSelect={(next) => {
          if (text.value === undefined) view.value = next
          else failure.value = 'Mend the text first: the form cannot show it.'
        }}
      >
        {view.value === 'form' ? (
          <PolicyForm
            draft={draft.value}
            isNew={!saved}
            nameProblem={nameProblem.value}
            hints={hints}
            onChange={(next) => {
              draft.value = next
              nameProblem.value = ''
              failure.value = ''
            }}
          />
        ) : (
          <TextView draft={draft} text={text} hints={hints} />
        )}
      </Tabs>
      {asking.value === 'enforce' && (
        <ConfirmEnforce
          draft={draft.value}
          onConfirm={() => keep({ ...draft.value, mode: 'enforce' })}
          onClose={() => (asking.value = undefined)}
        />
      )}
      {asking.value === 'delete' && saved && (
        <DeletePolicy
          name={saved.name}
          isEnforced={stateOf(saved) === 'enforce'}
          onClose={() => (asking.value = undefined)}
          onDeleted={() => {
            release()
            store.open(sources.policies).patch((list) => list.filter(({ name }) => name !== saved.name))
            location.navigate(link('policies'))
          }}
        />
      )}
      {leave.value && (
        <Confirm
          title="Leave without saving?"
          action="Leave"
          onClose={() => (leave.value = undefined)}
          onConfirm={async () => leave.value?.()}
        >
          <p>The changes to this policy will be lost.</p>
        </Confirm>
      )}
    </>
  )
}
