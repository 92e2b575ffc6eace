/**
 * Secrets in URLs and arguments of servers are sealed from here on: the values themselves are moved when a process starts,
 * which has the key. This keeps an older version, which would send `***` in their place, from starting on the result.
 */
export async function up(): Promise<void> {}

/** Sealed values cannot be moved back without the key: an older version would have to be given its URLs again. */
export async function down(): Promise<void> {}
