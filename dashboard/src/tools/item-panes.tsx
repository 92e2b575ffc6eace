import { useMemo } from 'preact/hooks'
import { filterQuery, type ToolFilter } from './filter.ts'
import { FilterBar, NoMatch } from './filter-bar.tsx'
import { ItemSections } from './item-list.tsx'
import { ListPane } from './list-pane.tsx'
import { entriesOf, listItems, type Item } from './list.ts'

interface ItemPanesProps<T extends Item> {
  readonly itemsName: 'prompt' | 'resource'
  readonly placeholder: string
  readonly items: readonly T[]
  readonly keyOf: (item: T) => string
  /** Key of the open item; '' for none. */
  readonly current: string
  readonly filter: ToolFilter
  /** Returns the searchable texts; must be the same function at each rendering. */
  readonly searched: (item: T) => readonly (string | undefined)[]
  readonly row: (item: T, isCurrent: boolean, query: Readonly<Record<string, string>>) => preact.ComponentChildren
  /** Content beside the list. */
  readonly children: preact.ComponentChildren
}

/** Items by server with a filter, beside the open one. */
export function ItemPanes<T extends Item>(props: ItemPanesProps<T>) {
  const { itemsName, placeholder, items, keyOf, current, filter, searched, row, children } = props
  const entries = useMemo(() => entriesOf(items, searched), [items, searched])
  const { q, server, state } = filter
  const list = useMemo(() => listItems(entries, { q, server, state }), [entries, q, server, state])
  const query = filterQuery(filter)
  return (
    <>
      <FilterBar
        filter={filter}
        label={`Search ${itemsName}s`}
        placeholder={placeholder}
        servers={[...new Set(items.map((item) => item.server))]}
        flagged={items.filter(({ flags }) => flags.length > 0).length}
      />
      <div class="two">
        <ListPane current={current}>
          {list.shown.length === 0 && <NoMatch filter={filter} itemsName={itemsName} />}
          <ItemSections
            list={list}
            keyOf={keyOf}
            current={current}
            row={(item) => row(item, keyOf(item) === current, query)}
          />
        </ListPane>
        {children}
      </div>
    </>
  )
}
