import { PageHead } from '../components/page-head.tsx'

export const Calls = () => <PageHead title="Calls" />
