import type { Attention } from '../../../src/schemas/dashboard/overview.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import { Shape, type Tone } from '../ui/icons.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'

const appearance: Readonly<
  Record<Attention['kind'], { readonly tone: Tone; readonly href: (name: string) => string }>
> = {
  server_failing: { tone: 'err', href: (name) => link('server', name) },
  sign_in_needed: { tone: 'warn', href: (name) => link('server', name, { tab: 'settings' }) },
  definitions_held: { tone: 'warn', href: (server) => link('definitions', '', { server }) },
  tool_hidden: { tone: 'err', href: (name) => link('tool', name) },
  prompt_hidden: { tone: 'err', href: (name) => link('prompt', name) },
  resource_hidden: { tone: 'err', href: (uri) => link('resources', '', { uri }) },
  items_left_out: { tone: 'warn', href: (name) => link('server', name) },
  group_missing: { tone: 'warn', href: (name) => link('group', name) },
  group_broken: { tone: 'warn', href: (name) => link('group', name) },
  group_tokens: { tone: 'warn', href: (name) => link('group', name) }
}

/** Problems that need attention, most severe first. */
export const AttentionList = ({ items }: { items: readonly Attention[] }) => (
  <ul class="attention">
    {items.map(({ kind, name, title, detail, since }) => (
      <li key={`${kind} ${name}`}>
        <span class={`st ${appearance[kind].tone}`}>
          <Shape tone={appearance[kind].tone} />
        </span>
        <div>
          <a data-row href={appearance[kind].href(name)}>
            <UntrustedText text={title} />
          </a>
          {since && (
            <span class="muted">
              {' '}
              <Ago at={since} />
            </span>
          )}
          {detail && (
            <p class="help">
              <UntrustedText text={sentence(detail)} />
            </p>
          )}
        </div>
      </li>
    ))}
  </ul>
)
