import type { CatalogueDetails } from '../../../src/schemas/catalogue.ts'
import { useRights, useSource } from '../app-context.ts'
import { InstallForm } from './install-form.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import type { PageProps } from '../pages.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

/** A server of the catalogue, with the form that installs it. */
export function CatalogueServer({ name }: PageProps) {
  const { administer } = useRights()
  const server = useSource(sources.catalogueServer(name))
  const { title = name, description } = server.data.value ?? {}
  return (
    <>
      <PageHead
        title={untrustedText(title)}
        heading={<UntrustedText text={title} />}
        crumb={
          <>
            <a href={link('catalogue')}>Catalogue</a> <span aria-hidden="true">/</span>
          </>
        }
        sub={description && <UntrustedText text={description} />}
      />
      <AsyncContent resource={server} subject="The server">
        {(details) => (
          <div class="stack">
            <Origin server={details} />
            {administer && <InstallForm key={`${details.name} ${details.version}`} server={details} />}
          </div>
        )}
      </AsyncContent>
    </>
  )
}

const Origin = ({
  server: { name, publisher, version, repository, website, is_deprecated }
}: {
  server: CatalogueDetails
}) => (
  <Facts>
    <Fact label="Name" value={<UntrustedText text={name} />} />
    <Fact label="Publisher" value={<UntrustedText text={publisher} />} note="Name verified by its registry" />
    <Fact
      label="Version"
      value={<UntrustedText text={version} />}
      note={is_deprecated ? 'Deprecated by its publisher' : undefined}
      bad={is_deprecated === true}
    />
    {repository && <Fact label="Source" value={<WebLink url={repository} />} />}
    {website && <Fact label="Website" value={<WebLink url={website} />} />}
  </Facts>
)

/** Link to another site; the gateway has checked that it is http or https. */
const WebLink = ({ url }: { url: string }) =>
  /^https?:\/\//.test(url) ? (
    <a href={url} target="_blank" rel="noopener noreferrer">
      <UntrustedText text={new URL(url).host} />
    </a>
  ) : null
