import type { Migration } from 'kysely'
import * as registry from './0001_registry.ts'

/** Every migration by name, applied in the order of the names. */
export const migrations: Readonly<Record<string, Migration>> = { '0001_registry': registry }
