import { useSignal } from '@preact/signals'
import {
  comparisons,
  readSimpleCondition,
  writeSimpleCondition,
  type ArgumentTest,
  type Comparison
} from '../../../src/domain/policy/simple-condition.ts'
import { Field } from '../ui/field.tsx'
import { ListInput } from './list-input.tsx'

const words: Readonly<Record<Comparison, string>> = {
  is: 'is one of',
  is_not: 'is none of',
  like: 'is like',
  at_most: 'is at most',
  at_least: 'is at least'
}

const emptyTest: ArgumentTest = { argument: '', comparison: 'is', values: [] }

interface TestRowProps {
  readonly test: ArgumentTest
  readonly number: number
  readonly onChange: (test: ArgumentTest) => void
  readonly onRemove: () => void
}

function TestRow({ test, number, onChange, onRemove }: TestRowProps) {
  const isList = test.comparison === 'is' || test.comparison === 'is_not'
  const value = { 'aria-label': `Value of condition ${number}`, placeholder: 'staging, dev' }
  return (
    <div class="condition">
      <input
        class="in mono"
        aria-label={`Argument of condition ${number}`}
        placeholder="namespace"
        autocomplete="off"
        spellcheck={false}
        value={test.argument}
        onInput={(event) => onChange({ ...test, argument: event.currentTarget.value.trim() })}
      />
      <select
        class="in"
        aria-label={`Comparison of condition ${number}`}
        value={test.comparison}
        onChange={(event) => onChange({ ...test, comparison: event.currentTarget.value as Comparison })}
      >
        {comparisons.map((each) => (
          <option key={each} value={each}>
            {words[each]}
          </option>
        ))}
      </select>
      {isList ? (
        <ListInput
          attributes={value}
          placeholder={value.placeholder}
          list={test.values}
          onChange={(values) => onChange({ ...test, values })}
        />
      ) : (
        <input
          class="in mono"
          aria-label={value['aria-label']}
          placeholder={test.comparison === 'like' ? '/public/*' : '5'}
          autocomplete="off"
          spellcheck={false}
          value={test.values[0] ?? ''}
          onInput={(event) => onChange({ ...test, values: [event.currentTarget.value] })}
        />
      )}
      <button type="button" class="btn quiet icon" aria-label={`Remove condition ${number}`} onClick={onRemove}>
        ×
      </button>
    </div>
  )
}

interface ConditionFieldProps {
  readonly when: string | undefined
  readonly onChange: (when: string | undefined) => void
}

/** Condition of a policy: comparisons of arguments, or an expression for everything else. */
export function ConditionField({ when = '', onChange }: ConditionFieldProps) {
  const rows = useSignal<readonly ArgumentTest[]>(readSimpleCondition(when) ?? [])
  const isExpression = useSignal(when !== '' && rows.value.length === 0)
  // the text view may have changed the condition
  const isOwn = writeSimpleCondition(rows.value) === when
  const tests = isOwn ? rows.value : readSimpleCondition(when)
  const change = (next: readonly ArgumentTest[]) => {
    rows.value = next
    onChange(next.length === 0 ? undefined : writeSimpleCondition(next))
  }
  if (isExpression.value || tests === undefined)
    return (
      <Field label="Condition" note="expression" wide help='In CEL, such as args.namespace == "dev"'>
        {(attributes) => (
          <>
            <textarea
              {...attributes}
              class="in"
              rows={3}
              spellcheck={false}
              value={when}
              onInput={(event) => onChange(event.currentTarget.value || undefined)}
            />
            {(when === '' || readSimpleCondition(when)) && (
              <button
                type="button"
                class="btn sm"
                onClick={() => {
                  rows.value = readSimpleCondition(when) ?? []
                  isExpression.value = false
                }}
              >
                Compare arguments
              </button>
            )}
          </>
        )}
      </Field>
    )
  return (
    <fieldset class="stack wide">
      <legend>
        <span class="lbl">When</span> <span class="help">Conditions on the arguments of a call; all must hold</span>
      </legend>
      {tests.map((test, at) => (
        <TestRow
          key={at}
          test={test}
          number={at + 1}
          onChange={(next) => change(tests.with(at, next))}
          onRemove={() => change(tests.toSpliced(at, 1))}
        />
      ))}
      <div class="actions">
        <button type="button" class="btn" onClick={() => change([...tests, emptyTest])}>
          Add condition
        </button>
        <button type="button" class="btn quiet" onClick={() => (isExpression.value = true)}>
          Write an expression
        </button>
      </div>
    </fieldset>
  )
}
