/** A table that scrolls inside its frame where it is too wide; `label` names it for screen readers. */
export const Table = ({ label, children }: { label: string; children: preact.ComponentChildren }) => (
  <div class="tw" tabIndex={0} role="region" aria-label={label}>
    <table>{children}</table>
  </div>
)
