import type { Cause } from './cause.ts'
import { network, tls } from './network-causes.ts'
import { commands, npm, programs, registries } from './program-causes.ts'

/** All known causes in the order in which they are looked for. */
export const causes: readonly Cause[] = [...commands, ...npm, ...tls, ...registries, ...programs, ...network]

/** Groups of the page docs/how-to/troubleshooting.md. */
export const causeGroups: Readonly<Record<string, readonly Cause[]>> = {
  'The command': commands,
  'Packages of npm': npm,
  'Downloads and Python': registries,
  'TLS certificates': tls,
  'The program itself': programs,
  'Servers with a URL': network
}
