/** Returns a function that starts `work`, unless its last run has not ended. `onError` gets what a run rejects with. */
export function oneAtATime(work: () => Promise<unknown>, onError: (error: unknown) => void): () => void {
  let isRunning = false
  return () => {
    if (isRunning) return
    isRunning = true
    void work()
      .catch(onError)
      .finally(() => {
        isRunning = false
      })
  }
}
