/** Does nothing, for results that do not matter. */
export const noop = () => {}
