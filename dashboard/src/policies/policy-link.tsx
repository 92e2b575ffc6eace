import { link } from '../router.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Name of a policy, linked to its page. */
export const PolicyLink = ({ name }: { name: string }) => (
  <a class="name" href={link('policy', name)} data-row>
    <UntrustedText text={name} />
  </a>
)
