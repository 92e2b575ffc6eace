interface RowProps {
  readonly label: preact.ComponentChildren
  readonly bad?: boolean | undefined
  readonly children: preact.ComponentChildren
}

export const Row = ({ label, bad, children }: RowProps) => (
  <div>
    <dt>{label}</dt>
    <dd class={bad ? 'bad' : undefined}>{children}</dd>
  </div>
)

interface KeyValuesProps {
  /** Two columns if there is room. */
  readonly columns?: 1 | 2
  readonly children: preact.ComponentChildren
}

/** Rows of name and value. */
export const KeyValues = ({ columns = 1, children }: KeyValuesProps) => (
  <dl class={columns === 2 ? 'kv two-columns' : 'kv'}>{children}</dl>
)
