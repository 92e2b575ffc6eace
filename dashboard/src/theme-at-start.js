// Runs before the first paint. Without an override CSS follows the system.
try {
  const theme = localStorage.getItem('towpath.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // storage is blocked: use the system's theme
}
