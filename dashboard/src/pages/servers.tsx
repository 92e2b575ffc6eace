import { PageHead } from '../components/page-head.tsx'

export const Servers = () => <PageHead title="Servers" />
