import type { PolicySubjects, PolicyTargets } from '../../../src/domain/policy/rule.ts'
import { Field } from '../ui/field.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { isAsking } from '../../../src/domain/policy/rule.ts'
import { ApprovalFields } from './approval-fields.tsx'
import { ConditionField } from './condition-field.tsx'
import { isForEverything, subjectLabels, targetLabels, type PolicyDraft } from './draft.ts'
import { KindLists } from './kind-lists.tsx'
import { ListInput } from './list-input.tsx'
import type { NameHints } from './prefixed.ts'

interface PolicyFormProps {
  readonly draft: PolicyDraft
  readonly isNew: boolean
  readonly nameProblem: string
  /** Warnings about the names of tools and prompts. */
  readonly hints: NameHints
  readonly onChange: (draft: PolicyDraft) => void
}

const effects = [
  { id: 'allow', label: 'Allow' },
  { id: 'confirm', label: 'Confirm' },
  { id: 'approve', label: 'Approve' },
  { id: 'deny', label: 'Deny' }
] as const
const modes = [
  { id: 'observe', label: 'Observe' },
  { id: 'enforce', label: 'Enforce' }
] as const

function Choices({ draft, onChange }: Pick<PolicyFormProps, 'draft' | 'onChange'>) {
  return (
    <>
      <div class="field">
        <span class="lbl">Effect</span>
        <div>
          <Segmented
            label="Effect"
            options={effects}
            current={draft.effect}
            onSelect={(effect) => onChange({ ...draft, effect })}
          />
        </div>
        <span class="help">Deny wins, then Approve, then Confirm, then Allow</span>
      </div>
      <div class="field">
        <span class="lbl">Mode</span>
        <div>
          <Segmented
            label="Mode"
            options={modes}
            current={draft.mode ?? 'enforce'}
            onSelect={(mode) => onChange({ ...draft, mode })}
          />
        </div>
        <span class="help">Observed policies are counted and logged, without effect</span>
      </div>
    </>
  )
}

/** Form for the usual members of policies; it keeps the rest, which the text view shows. */
export function PolicyForm({ draft, isNew, nameProblem, hints, onChange }: PolicyFormProps) {
  const { subjects = {}, targets = {} } = draft
  const setSubject = (kind: keyof PolicySubjects, list: readonly string[]) =>
    onChange({ ...draft, subjects: { ...subjects, [kind]: list } })
  const setTarget = (kind: keyof PolicyTargets, list: readonly string[]) =>
    onChange({ ...draft, targets: { ...targets, [kind]: list } })
  return (
    <div class="fields">
      {isNew && (
        <Field label="Name" wide error={nameProblem || undefined} help="Letters, digits, - and _">
          {(attributes) => (
            <input
              {...attributes}
              class="in mono"
              autocomplete="off"
              spellcheck={false}
              value={draft.name}
              onInput={(event) => onChange({ ...draft, name: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <Choices draft={draft} onChange={onChange} />
      <ApprovalFields draft={draft} onChange={onChange} />
      <KindLists
        legend="Who"
        help="Leave all empty for everyone. Commas between names; * at the end of one stands for any rest."
        labels={subjectLabels}
        usual={['groups', 'users']}
        examples={{
          groups: 'sre, platform-*',
          clients: 'deploy-bot',
          users: 'alice',
          roles: 'user',
          teams: 'platform'
        }}
        lists={subjects}
        onChange={setSubject}
      />
      <KindLists
        legend="What"
        help="Leave all empty for everything. Tools without the name of their server."
        labels={targetLabels}
        usual={['servers', 'tools']}
        examples={{ servers: 'k8s', tools: 'get_*, restart_*', resources: 'docs://*' }}
        hints={hints}
        lists={targets}
        onChange={setTarget}
      />
      {targets.annotations && Object.keys(targets.annotations).length > 0 && (
        <p class="help wide">It also selects tools by their annotations: change that in the text.</p>
      )}
      {(isForEverything(draft) || draft.everyone) && (
        <label class="check wide">
          <input
            type="checkbox"
            class="cb"
            checked={draft.everyone ?? false}
            onChange={(event) => onChange({ ...draft, everyone: event.currentTarget.checked })}
          />
          This is for every caller and every item
        </label>
      )}
      <ConditionField when={draft.when} onChange={(when) => onChange({ ...draft, when })} />
      <Field label="Reason" note="optional" help="Told to the caller whose call it refuses">
        {(attributes) => (
          <input
            {...attributes}
            class="in"
            autocomplete="off"
            value={draft.reason ?? ''}
            onInput={(event) => onChange({ ...draft, reason: event.currentTarget.value })}
          />
        )}
      </Field>
      {!isAsking(draft.effect) && (
        <Field label="Required scopes" note="optional" help="Of the token, such as mcp:write">
          {(attributes) => (
            <ListInput
              attributes={attributes}
              list={draft.require_scopes ?? []}
              onChange={(require_scopes) => onChange({ ...draft, require_scopes })}
            />
          )}
        </Field>
      )}
      <label class="check wide">
        <input
          type="checkbox"
          class="cb"
          checked={draft.enabled ?? true}
          onChange={(event) => onChange({ ...draft, enabled: event.currentTarget.checked })}
        />
        Switched on
      </label>
    </div>
  )
}
