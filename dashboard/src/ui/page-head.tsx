import { useEffect } from 'preact/hooks'

interface PageHeadProps {
  readonly title: string
  /** Rendering of a title that is untrusted text. */
  readonly heading?: preact.ComponentChildren
  readonly sub?: preact.ComponentChildren
  readonly crumb?: preact.ComponentChildren
  /** Buttons on the right. */
  readonly children?: preact.ComponentChildren
}

/** Title of the page and of the window. The focus moves to it when the route changes. */
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
