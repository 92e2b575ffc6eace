import { useSignal } from '@preact/signals'
import type { ToolOverride } from '../../../src/domain/overrides/tool-overrides.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Chevron } from '../ui/icons.tsx'
import { SecretField } from '../ui/secret-field.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Breakable } from '../ui/untrusted-text.tsx'
import { formOf, overrideOf, type ArgumentForm, type OverrideForm } from './override-form.ts'

interface ToolDialogProps {
  readonly tool: ToolView
  readonly override: ToolOverride | undefined
  /** Called with undefined if nothing is changed any more. */
  readonly onApply: (override: ToolOverride | undefined) => void
  readonly onClose: () => void
}

/** Form for the override of one tool, beside the definition of its server. */
export function ToolDialog({ tool, override, onApply, onClose }: ToolDialogProps) {
  const form = useSignal(formOf(tool.input_schema, override))
  const problem = useSignal('')
  const edit = (change: Partial<OverrideForm>) => {
    form.value = { ...form.value, ...change }
    problem.value = ''
  }
  const apply = () => {
    const result = overrideOf(form.value)
    if (typeof result === 'string') return void (problem.value = result)
    onApply(result)
    onClose()
  }
  const setArgument = (index: number, change: Partial<ArgumentForm>) =>
    edit({ arguments: form.value.arguments.map((each, i) => (i === index ? { ...each, ...change } : each)) })
  return (
    <Dialog title={`${tool.canonical_name} in this group`} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          apply()
        }}
      >
        <Texts tool={tool} form={form.value} onChange={edit} />
        {form.value.arguments.length > 0 && <h3>Arguments</h3>}
        {form.value.arguments.map((argument, index) => (
          <Argument key={argument.name} argument={argument} onChange={(change) => setArgument(index, change)} />
        ))}
        {problem.value && (
          <p class="err" role="alert">
            {problem.value}
          </p>
        )}
        <div class="actions end">
          {override && (
            <button
              type="button"
              class="btn quiet"
              onClick={() => {
                onApply(undefined)
                onClose()
              }}
            >
              Show as the server does
            </button>
          )}
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary">
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface TextsProps {
  readonly tool: ToolView
  readonly form: OverrideForm
  readonly onChange: (change: Partial<OverrideForm>) => void
}

/** Name, title and description; the server's own are the placeholders. */
const Texts = ({ tool, form, onChange }: TextsProps) => (
  <div class="fields">
    <Field label="Name" note="optional" help="Letters, digits, - _ and . The usual name is then unknown here">
      {(attributes) => (
        <input
          {...attributes}
          class="in mono"
          autocomplete="off"
          spellcheck={false}
          placeholder={tool.canonical_name}
          value={form.name}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      )}
    </Field>
    <Field label="Title" note="optional">
      {(attributes) => (
        <input
          {...attributes}
          class="in"
          placeholder={tool.title}
          value={form.title}
          onInput={(event) => onChange({ title: event.currentTarget.value })}
        />
      )}
    </Field>
    <Field label="Description" note="optional" wide>
      {(attributes) => (
        <textarea
          {...attributes}
          class="in"
          rows={4}
          placeholder={tool.description}
          value={form.description}
          onInput={(event) => onChange({ description: event.currentTarget.value })}
        />
      )}
    </Field>
  </div>
)

const modes = [
  { id: 'open', label: 'Open' },
  { id: 'fixed', label: 'Fixed' },
  { id: 'secret', label: 'Secret' }
] as const

interface ArgumentProps {
  readonly argument: ArgumentForm
  readonly onChange: (change: Partial<ArgumentForm>) => void
}

function Argument({ argument, onChange }: ArgumentProps) {
  const { name, type, isText, isRequired, mode, fixed, secret } = argument
  return (
    <div class="argument">
      <div class="row">
        <span>
          <code>
            <Breakable text={name} />
          </code>{' '}
          <span class="muted">
            {type}
            {isRequired ? ', required' : ''}
          </span>
        </span>
        <Segmented
          label={`Argument ${name}`}
          options={isText || mode === 'secret' ? modes : modes.slice(0, 2)}
          current={mode}
          onSelect={(next) => onChange({ mode: next })}
        />
      </div>
      {mode === 'fixed' && (
        <Field label="Value of every call" help={isText ? undefined : 'JSON'} wide>
          {(attributes) => (
            <input
              {...attributes}
              class="in mono"
              spellcheck={false}
              value={fixed}
              onInput={(event) => onChange({ fixed: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      {mode === 'secret' && (
        <SecretField
          label="Value of every call"
          help="Stored encrypted and never shown again"
          value={secret}
          onChange={(next) => onChange({ secret: next })}
        />
      )}
      {mode === 'open' && <OpenArgument argument={argument} onChange={onChange} />}
    </div>
  )
}

/** Fields of an argument that callers may send. */
const OpenArgument = ({ argument, onChange }: ArgumentProps) => (
  <details open={argument.byDefault !== '' || argument.choices !== '' || argument.description !== ''}>
    <summary>
      <Chevron />
      <span>Default, choices and description</span>
    </summary>
    <div class="fields">
      <Field label="Default" note="optional" help={argument.isText ? undefined : 'JSON'}>
        {(attributes) => (
          <input
            {...attributes}
            class="in mono"
            spellcheck={false}
            value={argument.byDefault}
            onInput={(event) => onChange({ byDefault: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Choices" note="optional" help={argument.isText ? 'One per line' : 'JSON, one per line'}>
        {(attributes) => (
          <textarea
            {...attributes}
            class="in mono"
            rows={2}
            spellcheck={false}
            value={argument.choices}
            onInput={(event) => onChange({ choices: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Description" note="optional" wide>
        {(attributes) => (
          <input
            {...attributes}
            class="in"
            value={argument.description}
            onInput={(event) => onChange({ description: event.currentTarget.value })}
          />
        )}
      </Field>
    </div>
  </details>
)
