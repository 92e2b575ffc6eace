const explanation = new Set(['cause', 'summary', 'next_step', 'stderr'])

/** Returns the body of an error without the members that explain the failure of a server. */
export const withoutExplanation = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !explanation.has(name)))
