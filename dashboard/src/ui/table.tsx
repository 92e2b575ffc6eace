interface TableProps {
  /** Label for screen readers. */
  readonly label: string
  /** Additional CSS class. */
  readonly kind?: string | undefined
  readonly children: preact.ComponentChildren
}

/** Table that scrolls inside its frame if it is too wide. */
export const Table = ({ label, kind, children }: TableProps) => (
  <div class="tw" tabIndex={0} role="region" aria-label={label}>
    <table class={kind}>{children}</table>
  </div>
)
