/**
 * From here on, secrets in URLs and arguments of servers are encrypted. The values are moved when a process that has
 * the key starts. This migration keeps an older version, which would send `***` instead, from starting on the database.
 */
export async function up(): Promise<void> {}

/** Encrypted values cannot be moved back without the key: an older version would need its URLs to be entered again. */
export async function down(): Promise<void> {}
