import type { Command } from 'commander'
import type { StartFlags } from '../../config/config.ts'
import { configure, type StartIo } from './start.ts'

export function addMigrate(program: Command, io: StartIo): void {
  program
    .command('migrate')
    .description('Run database migrations and exit')
    .option('--database-url <url>', 'use PostgreSQL instead of the embedded store (DATABASE_URL)')
    .option('--data-dir <folder>', 'folder of the embedded store (TOWPATH_DATA_DIR)')
    .action(async (flags: StartFlags) => {
      const configured = configure(flags, io)
      const { migrate } = await import('../../migrate.ts')
      io.onExit(configured ? await migrate(configured.config, io.out, io.error) : 2)
    })
}
