import { PageHead } from '../components/page-head.tsx'

export const Diagnostics = () => <PageHead title="Diagnostics" />
