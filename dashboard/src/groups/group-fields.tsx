import { Chevron } from '../ui/icons.tsx'
import { Field, NumberField } from '../ui/field.tsx'
import { isName, NAME_RULE } from '../../../src/domain/names.ts'
import { DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT } from '../../../src/domain/search/limits.ts'
import { canBeBare, type Draft } from './draft.ts'

interface GroupFieldsProps {
  readonly draft: Draft
  readonly isNew: boolean
  /** True if the description has its field here. */
  readonly isDescribing: boolean
  /** Error of the name other than its format: taken or missing. */
  readonly problem: string
  readonly onChange: (draft: Draft) => void
  readonly onSave: () => void
}

/** Fields of a group other than its tools: name, description, kind of names. */
export function GroupFields({ draft, isNew, isDescribing, problem, onChange, onSave }: GroupFieldsProps) {
  const wrong = draft.name !== '' && !isName(draft.name) ? `The name ${NAME_RULE}.` : problem
  return (
    <form
      id="group-fields"
      class="try gfields"
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      {isNew && (
        <div class="field">
          <label for="group-name">
            Name <span class="req">required</span>
          </label>
          <input
            id="group-name"
            class="in mono"
            value={draft.name}
            autocomplete="off"
            spellcheck={false}
            aria-invalid={wrong ? 'true' : undefined}
            aria-describedby="group-name-help"
            onInput={(event) => onChange({ ...draft, name: event.currentTarget.value })}
          />
          <span class={wrong ? 'err' : 'help'} id="group-name-help" role={wrong ? 'alert' : undefined}>
            {wrong || 'Part of the endpoint. Letters, digits, - and _'}
          </span>
        </div>
      )}
      {isDescribing && (
        <div class={isNew ? 'field' : 'field wide'}>
          <label for="group-description">Description</label>
          <input
            id="group-description"
            class="in"
            value={draft.description}
            placeholder="What agents use it for"
            onInput={(event) => onChange({ ...draft, description: event.currentTarget.value })}
          />
        </div>
      )}
      <Limits draft={draft} onChange={onChange} />
      <SearchMode draft={draft} onChange={onChange} />
      {(canBeBare(draft) || draft.tool_names === 'bare') && (
        <label class="check wide">
          <input
            type="checkbox"
            class="cb"
            checked={draft.tool_names === 'bare'}
            onChange={(event) => onChange({ ...draft, tool_names: event.currentTarget.checked ? 'bare' : 'qualified' })}
          />
          Serve the tools under their own names, without <code>{draft.included_servers[0]}__</code>
        </label>
      )}
    </form>
  )
}

/** Splits names at lines, spaces and commas. */
const namesOf = (text: string) => text.split(/[\s,]+/).filter((name) => name !== '')

/** Settings of search mode. */
const SearchMode = ({ draft, onChange }: Pick<GroupFieldsProps, 'draft' | 'onChange'>) => (
  <>
    <label class="check wide">
      <input
        type="checkbox"
        class="cb"
        checked={draft.tool_list === 'search'}
        onChange={(event) => onChange({ ...draft, tool_list: event.currentTarget.checked ? 'search' : 'full' })}
      />
      Search mode: list three tools that find and call the others
    </label>
    {draft.tool_list === 'search' && (
      <div class="fields wide">
        <Field label="Always listed" note="optional" help="Tools that stay in the list, one a line" wide>
          {(attributes) => (
            <textarea
              {...attributes}
              class="in mono"
              rows={2}
              spellcheck={false}
              value={draft.always_listed.join('\n')}
              onChange={(event) => onChange({ ...draft, always_listed: namesOf(event.currentTarget.value) })}
            />
          )}
        </Field>
        <NumberField
          label="Hits of a query"
          note="optional"
          help={`${DEFAULT_SEARCH_LIMIT}, at most ${MAX_SEARCH_LIMIT}`}
          min={1}
          max={MAX_SEARCH_LIMIT}
          value={draft.search_limit}
          onInput={(search_limit) => onChange({ ...draft, search_limit })}
        />
      </div>
    )}
  </>
)

/** Text for the model, and the limit of tokens. */
const Limits = ({ draft, onChange }: Pick<GroupFieldsProps, 'draft' | 'onChange'>) => (
  <details
    class="wide"
    open={[draft.instructions, draft.max_tokens, draft.max_result_tokens].some((text) => text !== '')}
  >
    <summary>
      <Chevron />
      <span>Instructions and token limits</span>
    </summary>
    <div class="fields">
      <Field label="Instructions" note="optional" help="Agents read them before those of the servers" wide>
        {(attributes) => (
          <textarea
            {...attributes}
            class="in"
            rows={3}
            value={draft.instructions}
            onInput={(event) => onChange({ ...draft, instructions: event.currentTarget.value })}
          />
        )}
      </Field>
      <NumberField
        label="Result limit"
        note="optional"
        help="Tokens beyond which texts of results are cut"
        min={100}
        value={draft.max_result_tokens}
        onInput={(max_result_tokens) => onChange({ ...draft, max_result_tokens })}
      />
      <NumberField
        label="Token limit"
        note="optional"
        help="A larger group cannot be saved"
        min={1}
        value={draft.max_tokens}
        onInput={(max_tokens) => onChange({ ...draft, max_tokens })}
      />
    </div>
  </details>
)
