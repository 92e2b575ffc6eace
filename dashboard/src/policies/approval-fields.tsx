import {
  approvalDefaults,
  isAsking,
  POLICY_LIMITS,
  withoutElicitation,
  type ApprovalSettings,
  type Approvers
} from '../../../src/domain/policy/rule.ts'
import { Field, NumberField } from '../ui/field.tsx'
import { approverLabels, type PolicyDraft } from './draft.ts'
import { KindLists } from './kind-lists.tsx'

interface ApprovalFieldsProps {
  readonly draft: PolicyDraft
  readonly onChange: (draft: PolicyDraft) => void
}

interface MemberFieldProps extends ApprovalFieldsProps {
  readonly label: string
  readonly help: string
  readonly member: 'hold_ms' | 'valid_ms' | 'uses'
  /** Value of the member for 1 in the field. */
  readonly unit: number
  readonly max: number
}

/** Number of a policy in the unit of people; an empty field stands for the default. */
function MemberField({ draft, onChange, label, help, member, unit, max }: MemberFieldProps) {
  const value = draft[member]
  const set = (text: string) => {
    const { [member]: _old, ...rest } = draft
    onChange(text === '' ? rest : { ...rest, [member]: Math.round(Number(text) * unit) })
  }
  return (
    <NumberField
      {...{ label, help }}
      min={member === 'hold_ms' ? 0 : 1}
      max={max / unit}
      placeholder={String(approvalDefaults[member] / unit)}
      value={value === undefined ? '' : String(value / unit)}
      onInput={(text) => {
        if (text === '' || Number.isFinite(Number(text))) set(text)
      }}
    />
  )
}

const withoutForms: Readonly<Record<(typeof withoutElicitation)[number], string>> = {
  approve: 'Ask an approver',
  deny: 'Deny',
  allow: 'Allow'
}

function WithoutForms({ draft, onChange }: ApprovalFieldsProps) {
  return (
    <Field label="Clients that cannot ask their user" help="And calls over REST">
      {(attributes) => (
        <select
          {...attributes}
          class="in"
          value={draft.without_elicitation ?? approvalDefaults.without_elicitation}
          onChange={(event) =>
            onChange({
              ...draft,
              without_elicitation: event.currentTarget.value as NonNullable<ApprovalSettings['without_elicitation']>
            })
          }
        >
          {withoutElicitation.map((each) => (
            <option key={each} value={each}>
              {withoutForms[each]}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** Members of policies that let a call run only after a yes. */
export function ApprovalFields({ draft, onChange }: ApprovalFieldsProps) {
  if (!isAsking(draft.effect)) return null
  const { approvers = {} } = draft
  const { holdMs, validMs, uses } = POLICY_LIMITS
  const setApprovers = (kind: keyof Approvers, list: readonly string[]) =>
    onChange({ ...draft, approvers: { ...approvers, [kind]: list } })
  return (
    <>
      {draft.effect === 'confirm' && <WithoutForms draft={draft} onChange={onChange} />}
      <KindLists
        legend="Who decides"
        help="Beside administrators"
        labels={approverLabels}
        usual={['groups', 'users']}
        examples={{ groups: 'sre', users: 'alice', teams: 'platform', roles: 'admin' }}
        lists={approvers}
        onChange={setApprovers}
      />
      <MemberField
        {...{ draft, onChange }}
        label="Seconds a call waits"
        help="Then the client is told to come back"
        member="hold_ms"
        unit={1_000}
        max={holdMs}
      />
      <MemberField
        {...{ draft, onChange }}
        label="Minutes a request and a yes count"
        help="A day at most"
        member="valid_ms"
        unit={60_000}
        max={validMs}
      />
      <MemberField
        {...{ draft, onChange }}
        label="Equal calls for one yes"
        help="Usually one"
        member="uses"
        unit={1}
        max={uses}
      />
    </>
  )
}
