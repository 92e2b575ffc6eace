import { useEffect } from 'preact/hooks'

interface PageHeadProps {
  readonly title: string
  /** Where the title is text from outside: how it is shown. */
  readonly heading?: preact.ComponentChildren
  readonly sub?: preact.ComponentChildren
  readonly crumb?: preact.ComponentChildren
  /** Buttons at the right. */
  readonly children?: preact.ComponentChildren
}

/** Title of a page and of the window. The focus moves to it when the route changes. */
export function PageHead({ title, heading, sub, crumb, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Towpath`
  }, [title])
  return (
    <div class="head">
      <div>
        {crumb && <p class="crumb">{crumb}</p>}
        <h1 tabIndex={-1}>{heading ?? title}</h1>
        {sub && <p class="sub">{sub}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </div>
  )
}
