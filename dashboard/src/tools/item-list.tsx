import { useSignal } from '@preact/signals'
import { Chevron } from '../ui/icons.tsx'
import { ServerState } from '../ui/status.tsx'
import { count } from '../format.ts'
import { CLOSED_ABOVE, PAGE, type Item, type ItemList, type Section } from './list.ts'

interface ItemSectionsProps<T extends Item> {
  readonly list: ItemList<T>
  readonly keyOf: (item: T) => string
  /** Key of the item open beside the list. */
  readonly current: string
  readonly row: (item: T) => preact.ComponentChildren
}

/** Items in a section per server. Sections start collapsed if there are many items. */
export function ItemSections<T extends Item>({ list, ...props }: ItemSectionsProps<T>) {
  const isMuch = list.shown.length > CLOSED_ABOVE
  return (
    <>
      {list.sections.map((section) => (
        <SectionView key={section.server} section={section} isMuch={isMuch} {...props} />
      ))}
    </>
  )
}

interface SectionProps<T extends Item> extends Omit<ItemSectionsProps<T>, 'list'> {
  readonly section: Section<T>
  readonly isMuch: boolean
}

function SectionView<T extends Item>({ section, isMuch, keyOf, current, row }: SectionProps<T>) {
  const { server, items, total, disabled, status } = section
  const opened = useSignal<boolean | undefined>(undefined)
  const limit = useSignal(PAGE)
  const at = items.findIndex((item) => keyOf(item) === current)
  const isOpen = opened.value ?? (!isMuch || at >= 0)
  // rows up to the open item
  const shown = Math.max(limit.value, at + 1)
  const isTroubled = status !== 'connected' && status !== 'unknown'
  return (
    <section aria-label={server}>
      <h2>
        <button type="button" class="sec-head" aria-expanded={isOpen} onClick={() => (opened.value = !isOpen)}>
          <Chevron />
          <span>{server}</span>
          {isTroubled && <ServerState status={status} />}
          <span class="muted num">
            {items.length < total ? `${count(items.length)} of ${count(total)}` : count(total)}
            {disabled > 0 && `, ${count(disabled)} disabled`}
          </span>
        </button>
      </h2>
      {isOpen && (
        <ul>
          {items.slice(0, shown).map((item) => (
            <li key={keyOf(item)}>{row(item)}</li>
          ))}
        </ul>
      )}
      {isOpen && items.length > shown && (
        <button type="button" class="btn quiet sm" onClick={() => (limit.value = shown + PAGE)}>
          Show {count(Math.min(PAGE, items.length - shown))} more of {count(items.length - shown)}
        </button>
      )}
    </section>
  )
}
