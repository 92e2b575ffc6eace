import { PageHead } from '../components/page-head.tsx'

export const Server = () => <PageHead title="Server" />
