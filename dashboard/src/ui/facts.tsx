interface FactProps {
  readonly label: string
  readonly value: preact.ComponentChildren
  readonly note?: preact.ComponentChildren
  readonly bad?: boolean
}

export const Fact = ({ label, value, note, bad }: FactProps) => (
  <div>
    <dt>{label}</dt>
    <dd class={bad ? 'bad' : undefined}>
      {value}
      {note && <small>{note}</small>}
    </dd>
  </div>
)

export const Facts = ({ children }: { children: preact.ComponentChildren }) => <dl class="facts">{children}</dl>
