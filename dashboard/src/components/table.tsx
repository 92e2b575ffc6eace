interface TableProps {
  /** Names it for screen readers. */
  readonly label: string
  /** A class of its own in the style sheet. */
  readonly kind?: string
  readonly children: preact.ComponentChildren
}

/** A table that scrolls inside its frame where it is too wide. */
export const Table = ({ label, kind, children }: TableProps) => (
  <div class="tw" tabIndex={0} role="region" aria-label={label}>
    <table class={kind}>{children}</table>
  </div>
)
