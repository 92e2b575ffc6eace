import { render } from 'preact'
import { mount } from './mount.ts'
import { startPages } from './start-pages.tsx'
import { developer } from './session.ts'

// code of the console only loads where it is needed
if (mount.isConsole) void import('./console/entrance.tsx').then(({ enter }) => enter())
else render(startPages(developer), document.body)
