import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import { useRights } from '../app-context.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import { Ago } from '../ui/time.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const itemNames = { tools: 'tool', prompts: 'prompt', resources: 'resource' } as const

interface ItemNoticesProps {
  readonly kind: keyof typeof itemNames
  readonly item: {
    readonly server: string
    readonly problem?: string | undefined
    readonly flags: readonly Flag[]
    readonly changed_at?: string | undefined
  }
}

/** Notice that the server's definition differs from the accepted one. */
const ChangeNotice = ({ server, changedAt }: { server: string; changedAt: string | undefined }) => {
  const { audit } = useRights()
  return (
    <section class="changed" aria-label="Changed definition">
      <p>
        <strong>The server has changed this definition</strong>
        {changedAt && (
          <>
            {' '}
            <Ago at={changedAt} />
          </>
        )}
        . {audit && <a href={link('definitions', '', { server })}>Compare and decide</a>}
      </p>
    </section>
  )
}

/** Tells why there is no form to try an item. */
const ReadingNotice = ({ kind }: Pick<ItemNoticesProps, 'kind'>) =>
  useRights().call ? null : (
    <p class="muted">Your role reads and calls nothing; people who may use this {itemNames[kind]} can try it here.</p>
  )

/** Notices about an item before somebody uses it. */
export const ItemNotices = ({ kind, item }: ItemNoticesProps) => (
  <>
    {item.problem && (
      <p class="banner err">
        <strong>Agents cannot use this {itemNames[kind]}.</strong> <UntrustedText text={sentence(item.problem)} />
      </p>
    )}
    {item.flags.includes('changed') && <ChangeNotice server={item.server} changedAt={item.changed_at} />}
    <ReadingNotice kind={kind} />
  </>
)
